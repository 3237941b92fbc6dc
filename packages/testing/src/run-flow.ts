import { randomUUID } from 'node:crypto'
import {
  type AnyFlow,
  type Env,
  type ExtractFlowInput,
  type ExtractFlowOutput,
  type HandledStep,
  type HandledStepSlug,
  type Json,
  requireFlow,
  type StepDefinition,
  type StepInput,
  type StepOutput,
  type StepSlug,
  toJsonText,
} from '@starflow/dsl'
import {
  DEFAULT_ENV,
  DEFAULT_WORKSPACE,
  ENDED_STATUSES,
  Engine,
  planFlow,
  type RunFailure,
  type RunRecord,
  RunState,
  type StepStatus,
} from '@starflow/engine'
import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import { PatientClock } from './patient-clock.ts'
import { type StandIn, TIMES_OUT, type WaitAnswer } from './stand-in.ts'

export interface RunFlowOptions<TFlow extends AnyFlow = AnyFlow> {
  /** What stands in for the handlers of steps. */
  readonly handlers?: { readonly [TSlug in HandledStepSlug<TFlow>]?: StandIn<StepInput<TFlow, TSlug>> }
  /** How waits end. A run that comes to one which is not here stops there, with the status `paused`. */
  readonly waits?: { readonly [TSlug in Exclude<StepSlug<TFlow>, HandledStepSlug<TFlow>>]?: WaitAnswer }
  /** `ctx.env`. Default: nothing, so that no test depends on where it runs. */
  readonly env?: Env
  /** `ctx.sql`, and `ctx.tx` of transactional steps, which have no transaction here. */
  readonly sql?: unknown
  /** `ctx.supabase`. */
  readonly supabase?: unknown
}

/** One attempt at a step, or at one element of a map. */
export interface HandlerCall {
  readonly input: unknown
  /** Which element of a map; 0 for other steps. */
  readonly taskIndex: number
  /** From 1 on. */
  readonly attempt: number
}

export interface StepReport<TOutput = Json> {
  readonly status: StepStatus
  /** Of a step that completed; of a map the outputs of its elements. */
  readonly output: TOutput | null
  readonly skipReason: string | null
  readonly failure: RunFailure | null
  /** In the order in which they began. */
  readonly calls: readonly HandlerCall[]
}

/** What became of a run. */
export interface FlowReport<TFlow extends AnyFlow = AnyFlow> {
  readonly status: 'success' | 'error' | 'cancelled' | 'paused'
  /** Of a run that succeeded. */
  readonly output: ExtractFlowOutput<TFlow> | null
  /** Of a run that failed; the step that failed has more of it. */
  readonly error: string | null
  readonly steps: { readonly [TSlug in StepSlug<TFlow>]: StepReport<StepOutput<TFlow, TSlug>> }
  /** How long it would have taken, delays and waits among it. */
  readonly elapsedMs: number
}

/** The secret of no deployment: no token that is signed here leaves the test. */
const WAIT_TOKEN_SECRET = 'of runs in memory, which nobody else resumes'
/** No lease is ever over: there is one runner. */
const LEASE_TTL_MS = 2 ** 40
const SWEEP = { ttlMs: LEASE_TTL_MS, maxLosses: 1, reason: 'runner_lost' }

/**
 * Runs a flow to its end in this process, in memory, by the engine that runners have: conditions, maps, retries, timeouts and waits
 * do what they do anywhere. Nobody waits for a delay: while no handler is at work, time jumps to what comes next.
 *
 * @throws StarflowError SF817 for a flow that no runner could take
 * @example
 * const report = await runFlow(orders, { id: 7 }, { handlers: { charge: failTimes(1) }, waits: { approve: true } })
 * expect(report.status).toBe('success')
 * expect(report.steps.charge.calls).toHaveLength(2)
 */
export async function runFlow<TFlow extends AnyFlow>(
  flow: TFlow,
  input: ExtractFlowInput<TFlow>,
  options: RunFlowOptions<TFlow> = {},
): Promise<FlowReport<TFlow>> {
  requireFlow('runFlow', flow)
  const clock = new PatientClock()
  const adapter = await LocalWorkflowStateAdapter.open({ path: ':memory:', clock: () => Math.floor(clock.now()) })
  try {
    const run = await RunInMemory.enqueue({
      clock,
      adapter,
      flow,
      input: input as Json,
      options: options as RunInMemoryParts['options'],
    })
    return (await run.toItsEnd()) as FlowReport<TFlow>
  } finally {
    clock.stop()
    await adapter.close()
  }
}

interface RunInMemoryParts {
  readonly clock: PatientClock
  readonly adapter: LocalWorkflowStateAdapter
  readonly flow: AnyFlow
  readonly input: Json
  readonly options: Omit<RunFlowOptions, 'handlers' | 'waits'> & {
    readonly handlers?: Readonly<Record<string, StandIn<never> | undefined>>
    readonly waits?: Readonly<Record<string, WaitAnswer | undefined>>
  }
}

class RunInMemory {
  readonly #parts: RunInMemoryParts
  readonly #flow: AnyFlow
  readonly #engine: Engine
  readonly #calls = new Map<string, HandlerCall[]>()
  readonly #beganAtMs: number
  #runId = ''

  private constructor(parts: RunInMemoryParts) {
    const { clock, adapter, flow, options } = parts
    this.#parts = parts
    this.#flow = this.#watched(flow)
    this.#beganAtMs = clock.now()
    const { sql, supabase, env = {} } = options
    this.#engine = new Engine({
      ...{ adapter, clock, leaseTtlMs: LEASE_TTL_MS, env },
      lendSql: sql === undefined ? undefined : () => ({ sql, giveBack() {} }),
      supabase,
      waitHost: {
        tokenKey: { kid: 'test', secret: WAIT_TOKEN_SECRET },
        emitWaitWake: async () => {},
      },
    })
  }

  static async enqueue(parts: RunInMemoryParts): Promise<RunInMemory> {
    const run = new RunInMemory(parts)
    const { adapter, input } = parts
    const { definitionId } = await run.#engine.serve(run.#flow)
    const enqueued = await adapter.enqueueRun({
      ...{ runId: randomUUID(), templateId: run.#flow.slug, workspaceId: DEFAULT_WORKSPACE, env: DEFAULT_ENV },
      ...{ input: JSON.parse(toJsonText(input)) as Json, definitionId },
    })
    run.#runId = enqueued.runId
    return run
  }

  async toItsEnd(): Promise<FlowReport> {
    for (;;) {
      await this.#execute()
      const record = await this.#record()
      if (ENDED_STATUSES.includes(record.status)) return await this.#report(record)
      if (record.status === 'paused' && record.claimState === 'paused') {
        if (!(await this.#endWait())) return await this.#report(record)
      } else if (record.availableAt !== null) this.#parts.clock.advanceTo(Date.parse(record.availableAt))
    }
  }

  async #execute(): Promise<void> {
    const { adapter } = this.#parts
    const { definitionId } = await this.#engine.serve(this.#flow)
    const claimed = await adapter.claimNextQueuedRun({
      ...{ runnerId: this.#engine.runnerId, leaseTtlMs: LEASE_TTL_MS, definitionIds: [definitionId] },
    })
    if (claimed !== null) await (await this.#engine.open(this.#flow, claimed)).execute()
  }

  /** False when no open wait has an answer. */
  async #endWait(): Promise<boolean> {
    const { adapter, clock, options } = this.#parts
    const answers = options.waits ?? {}
    const open = (await adapter.readWaits(this.#runId)).filter(({ status }) => status === 'open')
    const resumed = open.find(({ nodeId }) => answers[nodeId] !== undefined && answers[nodeId] !== TIMES_OUT)
    if (resumed !== undefined) {
      await adapter.resumeWait(this.#runId, resumed.nodeId, answers[resumed.nodeId] as Json)
      return true
    }
    const [late] = open
      .filter(({ nodeId, dueAt }) => answers[nodeId] === TIMES_OUT && dueAt !== null)
      .sort((one, other) => Date.parse(one.dueAt!) - Date.parse(other.dueAt!))
    if (late === undefined) return false
    clock.advanceTo(Date.parse(late.dueAt!))
    await adapter.expireOldLeases(SWEEP)
    return true
  }

  async #report(record: RunRecord): Promise<FlowReport> {
    const state = new RunState(planFlow(this.#flow), record.input)
    for (const event of await this.#parts.adapter.readEvents(this.#runId, { limit: Number.MAX_SAFE_INTEGER })) {
      state.apply({ ...event, atMs: Date.parse(event.createdAt) })
    }
    const steps = state
      .snapshot()
      .map(({ slug, status, skipReason, output, failure }): [string, StepReport] => [
        slug,
        { status, output, skipReason, failure, calls: this.#calls.get(slug) ?? [] },
      ])
    return {
      status: record.status as FlowReport['status'],
      output: record.output as FlowReport['output'],
      error: record.error,
      steps: Object.fromEntries(steps) as FlowReport['steps'],
      elapsedMs: Math.round(this.#parts.clock.now() - this.#beganAtMs),
    }
  }

  async #record(): Promise<RunRecord> {
    const record = await this.#parts.adapter.readRun(this.#runId)
    if (record === null) throw new Error('The run is not kept.')
    return record
  }

  /** The flow with the stand-ins in it, each call noted, and time as it is outside while one is at work. */
  #watched(flow: AnyFlow): AnyFlow {
    const standIns = this.#parts.options.handlers ?? {}
    const definitions = new Map(
      flow.stepOrder.map((slug): [string, StepDefinition] => {
        const definition = flow.getStepDefinition(slug)
        return [slug, definition.stepType === 'wait' ? definition : this.#watchedStep(definition, standIns[slug])]
      }),
    )
    // Only what an engine asks of a flow; the rest is the flow's.
    return Object.create(flow, {
      stepOrder: { value: flow.stepOrder },
      getStepDefinition: { value: (slug: string) => definitions.get(slug)! },
    }) as AnyFlow
  }

  #watchedStep(definition: HandledStep, standIn: StandIn<never> | undefined): StepDefinition {
    const { slug, handler, transactional } = definition
    return {
      ...definition,
      transactional: false,
      handler: (input, given) => {
        const context = given as Parameters<StandIn>[1] & { readonly sql: unknown }
        if (transactional) Object.defineProperty(context, 'tx', { get: () => context.sql })
        const { attempt, task_index: taskIndex } = context.stepTask
        const calls = this.#calls.get(slug) ?? []
        this.#calls.set(slug, calls)
        calls.push({ input: structuredClone(input), taskIndex, attempt })
        const original = () => handler(input, context)
        return this.#parts.clock.during(() =>
          standIn === undefined ? original() : standIn(input as never, context, original),
        )
      },
    }
  }
}
