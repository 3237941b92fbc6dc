import type { AnyFlow, ExtractFlowInput, StandardSchemaV1 } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { checkInput } from './check-input.ts'
import type { FlowOf, FlowRegistry, FlowSlug } from './flow-registry.ts'
import { FlowRun } from './flow-run.ts'
import { DEFAULT_INTERVALS, type Intervals } from './intervals.ts'
import { runNotFound } from './run-errors.ts'
import { parseRun, parseSnapshot, type RunSnapshot } from './run-state.ts'
import { callStarflow } from './starflow-rpc.ts'
import type { SupabasePort } from './supabase-port.ts'

export interface StarflowClientOptions<TFlows> {
  /** False: runs are polled, and no web socket is opened. Default true. */
  readonly realtime?: boolean
  /** Input schemas by flow slug. An input that does not fit is refused before anything is sent. */
  readonly inputSchemas?: { readonly [TSlug in FlowSlug<TFlows>]?: StandardSchemaV1 }
  readonly intervals?: Partial<Intervals>
}

export interface StartOptions {
  /** The id of the run. One that exists already gives its run, which is not started again. */
  readonly runId?: string
  /** The same key again gives the run that it started the first time. */
  readonly idempotencyKey?: string
  /** Nothing of the run is worked on before. */
  readonly startAt?: Date
}

/**
 * Starts runs and watches them, through supabase-js: in browsers with the key and session of whoever is signed in, who sees
 * their own runs only, and on servers with the service role's.
 *
 * @typeParam TFlows the types of the flows by their slug; without it every slug and every input is taken
 *
 * @example
 * const starflow = createStarflowClient<{ supportThreadsV1: typeof supportThreads }>(supabase)
 * const run = await starflow.startFlow('supportThreadsV1', { id: 't1', title: 'How?' })
 * await run.waitForStatus('completed', { timeoutMs: 60_000 })
 * run.output // { announce?: { delivered: boolean } }
 */
export function createStarflowClient<TFlows extends FlowRegistry<TFlows> = Record<string, AnyFlow>>(
  supabase: SupabasePort,
  options: StarflowClientOptions<TFlows> = {},
): StarflowClient<TFlows> {
  return new StarflowClient<TFlows>(supabase, options)
}

/** What {@link createStarflowClient} gives. */
export class StarflowClient<TFlows = Record<string, AnyFlow>> {
  readonly #supabase: SupabasePort
  readonly #options: StarflowClientOptions<TFlows>
  readonly #intervals: Intervals

  /** @internal */
  constructor(supabase: SupabasePort, options: StarflowClientOptions<TFlows>) {
    this.#supabase = supabase
    this.#options = options
    this.#intervals = { ...DEFAULT_INTERVALS, ...options.intervals }
  }

  /**
   * Starts a run.
   *
   * @throws StarflowError SF201 no such flow, SF203 its input is not valid, SF202 the run id or key is taken, SF226 the request failed
   */
  async startFlow<TSlug extends FlowSlug<TFlows>>(
    flowSlug: TSlug,
    input: ExtractFlowInput<FlowOf<TFlows, TSlug>>,
    { runId, idempotencyKey, startAt }: StartOptions = {},
  ): Promise<FlowRun<FlowOf<TFlows, TSlug>>> {
    await this.#checkInputs(flowSlug, [input])
    const start = { flow_slug: flowSlug, input, ...(runId !== undefined && { run_id: runId }) }
    if (idempotencyKey !== undefined || startAt !== undefined) {
      const rows = await callStarflow(this.#supabase, 'start_flow', {
        ...start,
        ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
        ...(startAt !== undefined && { start_at: startAt.toISOString() }),
      })
      return this.#runOf(await this.#read(firstRunId(rows)))
    }
    if (input === null || input === undefined) {
      // PostgREST makes a parameter that is null SQL's NULL, which is no input; inside an array it stays what it is.
      const parameters = { flow_slug: flowSlug, inputs: [null], ...(runId !== undefined && { run_ids: [runId] }) }
      const rows = await callStarflow(this.#supabase, 'start_flows', parameters)
      return this.#runOf(await this.#read(firstRunId(rows)))
    }
    const snapshot = parseSnapshot(await callStarflow(this.#supabase, 'start_flow_with_states', start))
    if (snapshot === null) throw notYours(flowSlug)
    return this.#runOf(snapshot)
  }

  /**
   * Starts a run for each input, all of them or none, in one request. Their steps are read when somebody looks at them.
   *
   * @throws StarflowError as startFlow does
   */
  async startFlows<TSlug extends FlowSlug<TFlows>>(
    flowSlug: TSlug,
    inputs: readonly ExtractFlowInput<FlowOf<TFlows, TSlug>>[],
    { runIds }: { readonly runIds?: readonly string[] } = {},
  ): Promise<FlowRun<FlowOf<TFlows, TSlug>>[]> {
    await this.#checkInputs(flowSlug, inputs)
    const rows = (await callStarflow(this.#supabase, 'start_flows', {
      flow_slug: flowSlug,
      inputs: inputs.map((input) => input ?? null),
      ...(runIds !== undefined && { run_ids: runIds }),
    })) as Record<string, unknown>[]
    return rows.map((row) => new FlowRun({ ...this.#hosts(), run: parseRun(row), snapshot: undefined }))
  }

  /**
   * A run, or null where there is none that the caller may see. With `flowSlug` it has the types of that flow.
   *
   * @throws StarflowError SF202 when it is a run of another flow, SF226 the request failed
   */
  async getRun<TSlug extends FlowSlug<TFlows>>(
    runId: string,
    flowSlug?: TSlug,
  ): Promise<FlowRun<FlowOf<TFlows, TSlug>> | null> {
    const snapshot = await this.#find(runId)
    if (snapshot === null) return null
    const actual = snapshot.run.flowSlug
    if (flowSlug !== undefined && flowSlug !== actual) {
      throw new StarflowError({
        code: 'SF202',
        message: `Run ${runId} belongs to flow "${actual}".`,
        detail: `It was asked for flow "${flowSlug}".`,
        hint: 'Ask for it with its own flow, or without one.',
        fields: { runId, flowSlug: actual },
      })
    }
    return this.#runOf(snapshot)
  }

  /**
   * Cancels a run: its unfinished work ends with it. One that has ended stays as it ended. Gives the run as it is then.
   *
   * @throws StarflowError SF802 there is none that the caller may change
   */
  async cancelRun<TFlow extends AnyFlow = AnyFlow>(
    run: FlowRun<TFlow> | string,
    { reason }: { readonly reason?: string } = {},
  ): Promise<FlowRun<TFlow>> {
    return await this.#change('cancel_run', run, reason === undefined ? {} : { reason })
  }

  /**
   * Starts a failed or cancelled run again where it stopped; any other stays as it is. Gives the run as it is then.
   *
   * @throws StarflowError SF802 there is none that the caller may change
   */
  async retryRun<TFlow extends AnyFlow = AnyFlow>(run: FlowRun<TFlow> | string): Promise<FlowRun<TFlow>> {
    return await this.#change('retry_run', run, {})
  }

  async #change<TFlow extends AnyFlow>(
    name: string,
    run: FlowRun<TFlow> | string,
    parameters: object,
  ): Promise<FlowRun<TFlow>> {
    const runId = typeof run === 'string' ? run : run.runId
    const rows = (await callStarflow(this.#supabase, name, { run_id: runId, ...parameters })) as unknown[]
    if (rows.length === 0) throw runNotFound(runId)
    return typeof run === 'string' ? this.#runOf(await this.#read(runId)) : await run.refresh()
  }

  async #checkInputs(flowSlug: FlowSlug<TFlows>, inputs: readonly unknown[]): Promise<void> {
    const schema = this.#options.inputSchemas?.[flowSlug]
    if (schema !== undefined) for (const input of inputs) await checkInput(flowSlug, schema, input)
  }

  async #find(runId: string): Promise<RunSnapshot | null> {
    return parseSnapshot(await callStarflow(this.#supabase, 'get_run_with_states', { run_id: runId }))
  }

  async #read(runId: string): Promise<RunSnapshot> {
    const snapshot = await this.#find(runId)
    if (snapshot === null) throw runNotFound(runId)
    return snapshot
  }

  #runOf<TFlow extends AnyFlow>(snapshot: RunSnapshot): FlowRun<TFlow> {
    return new FlowRun<TFlow>({ ...this.#hosts(), run: snapshot.run, snapshot })
  }

  #hosts() {
    return { supabase: this.#supabase, intervals: this.#intervals, realtime: this.#options.realtime ?? true }
  }
}

function firstRunId(rows: unknown): string {
  return (rows as [{ run_id: string }])[0].run_id
}

/** The database has started it and does not show it: it belongs to nobody. */
function notYours(flowSlug: string): StarflowError {
  return new StarflowError({
    code: 'SF802',
    message: `A run of flow "${flowSlug}" was started, and whoever started it may not see it.`,
    detail: 'The token names no person: a run belongs to the sub of the token that started it.',
    hint: 'Sign in first, or start runs on a server, with the service role.',
    fields: { flowSlug },
  })
}
