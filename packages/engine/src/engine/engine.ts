import { randomUUID } from 'node:crypto'
import {
  type AnyFlow,
  type CompatibleFlow,
  type ExtractFlowInput,
  type ExtractFlowOutput,
  extractFlowShape,
  type Json,
  type RunnerContext,
  requireFlow,
  toJsonText,
} from '@starflow/dsl'
import { isStarflowError, StarflowError } from '@starflow/errors'
import type { Tracing } from '@starflow/tracing'
import { shapeHash } from '../definition.ts'
import { LEASE_TTL_MS, MAP_CONCURRENCY } from '../numbers.ts'
import type { DefinitionRecord, RunClaim, RunEvent, RunFailure } from '../run-record.ts'
import type { ClaimedRun, RunStart, WorkflowStateAdapter } from '../state-adapter.ts'
import type { WaitHost } from '../wait/enter-durable-wait.ts'
import { signWaitToken } from '../wait/wait-token.ts'
import { type Clock, DatabaseTime, systemClock } from './clock.ts'
import { untilAnswered } from './durable-writes.ts'
import type { EngineEvent, EngineEventBody } from './events.ts'
import { planFlow } from './flow-plan.ts'
import { type ExecutionEnd, type ExecutionResult, type PickTask, RunExecution } from './run-execution.ts'
import { RunState } from './run-state.ts'
import { sharedAbortController } from './shared-abort-controller.ts'
import type { EngineResources } from './step-context.ts'

export interface EngineOptions extends EngineResources {
  readonly adapter: WorkflowStateAdapter
  /** Who leases runs. Default: a new name for each engine. */
  readonly runnerId?: string
  /** Elements of one map that run at once. Default 10. */
  readonly mapConcurrency?: number
  /** Handlers of one run that are at work at once. Default: no limit but that of maps. */
  readonly runConcurrency?: number
  /** Receives the tokens of waits. Without it a flow with a wait is refused. */
  readonly waitHost?: WaitHost | undefined
  /** Default: 30 s. */
  readonly leaseTtlMs?: number
  readonly onEvent?: (event: EngineEvent) => void
  /** Default: no spans. */
  readonly tracing?: Tracing | undefined
  /** Aborted when the process is about to end: handlers see it as `ctx.shutdownSignal`. */
  readonly shutdownSignal?: AbortSignal
  /** Default: the system's. */
  readonly clock?: Clock
  /** Which task runs next, for schedules that are to be repeated. Default: steps in order, elements in order. */
  readonly pick?: PickTask
}

export interface StartOptions {
  readonly runId?: string
  readonly workspaceId?: string
  readonly env?: string
  /** The span that starts it. Default: the active one, where there is tracing. */
  readonly traceparent?: string | null | undefined
  /** Once aborted nothing more of the run is started; when what is under way has ended, the run is given back to the queue. */
  readonly drainSignal?: AbortSignal
}

/** A run as it stands when its execution here is over. */
export interface RunResult<TOutput = Json> {
  readonly runId: string
  readonly end: ExecutionEnd
  /** Of a run that succeeded. */
  readonly output: TOutput | null
  /** Of a run that failed. */
  readonly failure: RunFailure | null
}

/** What a runner needs of runs that do not say it. */
export const DEFAULT_WORKSPACE = 'celestial'
export const DEFAULT_ENV = 'prod'

/** Executes runs of flows in this process, on whatever store it is given. */
export class Engine {
  readonly runnerId: string
  readonly #options: EngineOptions
  readonly #clock: Clock
  readonly #leaseTtlMs: number
  readonly #served = new WeakMap<AnyFlow, DefinitionRecord>()

  constructor(options: EngineOptions) {
    this.#options = options
    this.runnerId = options.runnerId ?? `runner-${randomUUID()}`
    this.#clock = options.clock ?? systemClock
    this.#leaseTtlMs = options.leaseTtlMs ?? LEASE_TTL_MS
  }

  /**
   * Runs a flow, and settles when the run has ended or cannot go on here. With the id of a run that was cut off it goes on
   * where that stopped.
   *
   * @throws StarflowError SF817 for a flow that cannot run here, SF818 for a run of another definition, SF801 for one that has
   *   ended or that another process holds
   */
  async run<TFlow extends AnyFlow>(
    flow: TFlow & CompatibleFlow<TFlow, RunnerContext>,
    input: ExtractFlowInput<TFlow>,
    options: StartOptions = {},
  ): Promise<RunResult<ExtractFlowOutput<TFlow>>> {
    const { adapter } = this.#options
    const { definitionId } = await this.serve(flow)
    const start: RunStart & { runId: string } = {
      runId: options.runId ?? randomUUID(),
      templateId: flow.slug,
      workspaceId: options.workspaceId ?? DEFAULT_WORKSPACE,
      env: options.env ?? DEFAULT_ENV,
      input: JSON.parse(toJsonText(input)) as Json,
      definitionId,
      traceparent: options.traceparent ?? this.#options.tracing?.active() ?? null,
    }
    if (options.runId !== undefined) {
      // Before anything of it is taken: it may be a run that was cut off.
      const existing = await this.#ask('readRun', () => adapter.readRun(start.runId))
      if (existing !== null) await this.#checkDefinition(flow, existing)
    }
    await this.#ask('onRunStart', () => adapter.onRunStart(start.runId, start))
    const claim = await this.#ask('writeLease', () => adapter.writeLease(start.runId, this.runnerId, this.#leaseTtlMs))
    let execution: RunExecution | undefined
    const stopHeartbeat = this.#refresh(adapter.bind(claim), start.runId, () => execution?.stop('lost'))
    try {
      // Null where nothing is kept. A run that exists already goes on as what it is.
      const record = await this.#ask('readRun', () => adapter.readRun(start.runId))
      execution = await this.#open(flow, record ?? start, claim, { leaseUntil: record?.leaseUntil })
      const result = await executeUntilDrained(execution, options.drainSignal)
      return {
        runId: start.runId,
        end: result.end,
        output: result.end === 'success' ? (result.output as ExtractFlowOutput<TFlow>) : null,
        failure: result.end === 'error' ? result.failure : null,
      }
    } finally {
      stopHeartbeat()
    }
  }

  /**
   * Takes up a run that was claimed: what it has come to is read from its events, however long that takes while the claim
   * stands.
   *
   * @param signal aborted when the run is no longer this process's. Default: it stays so
   * @throws StarflowError SF818 for a run of another definition
   */
  async open(flow: AnyFlow, { claim, run }: ClaimedRun, signal = NEVER): Promise<RunExecution> {
    return await this.#open(flow, run, claim, { leaseUntil: run.leaseUntil, signal, patienceMs: undefined })
  }

  /**
   * Checks that a flow can run here, and keeps its definition: runs are tied to it.
   *
   * @throws StarflowError SF817; SF122 for a flow of another library
   */
  async serve(flow: AnyFlow): Promise<DefinitionRecord> {
    const known = this.#served.get(flow)
    if (known !== undefined) return known
    requireFlow('The engine', flow)
    checkRunnable(flow, this.#options.waitHost)
    const shape = extractFlowShape(flow)
    const definition = { flowSlug: flow.slug, shapeHash: await shapeHash(shape), shape }
    const record = await this.#ask('saveDefinition', () => this.#options.adapter.saveDefinition(definition))
    this.#served.set(flow, record)
    return record
  }

  async #open(
    flow: AnyFlow,
    run: RunStart & { readonly runId: string },
    claim: RunClaim,
    { leaseUntil, ...asking }: { readonly leaseUntil: string | null | undefined } & Asking,
  ): Promise<RunExecution> {
    await this.#checkDefinition(flow, run)
    const { adapter, onEvent, pick, waitHost, mapConcurrency, runConcurrency, shutdownSignal, tracing } = this.#options
    // The lease was computed from the database's clock a moment ago: so its time is known here.
    const databaseNowMs = leaseUntil ? Date.parse(leaseUntil) - this.#leaseTtlMs : Date.now()
    const time = new DatabaseTime(this.#clock, databaseNowMs)
    const bound = adapter.bind(claim)
    const plan = planFlow(flow)
    const { runId, templateId, workspaceId, env, input, definitionId, traceparent } = run
    const start = { runId, templateId, workspaceId, env, input, definitionId, traceparent }
    const state = new RunState(plan, run.input)
    for await (const event of this.#events(run.runId, asking)) {
      state.apply({ ...event, atMs: Date.parse(event.createdAt) })
    }
    const emit = (event: EngineEventBody) =>
      onEvent?.({ ...event, runId: run.runId, flowSlug: flow.slug } as EngineEvent)
    return new RunExecution({
      ...{ flow, plan, state, run: start, adapter: bound, clock: this.#clock, time, pick, waitHost, emit, tracing },
      runnerId: this.runnerId,
      limits: {
        mapConcurrency: mapConcurrency ?? MAP_CONCURRENCY,
        runConcurrency: runConcurrency ?? Number.POSITIVE_INFINITY,
      },
      resources: this.#options,
      shutdownSignal: shutdownSignal ?? NEVER,
    })
  }

  async #checkDefinition(flow: AnyFlow, run: RunStart & { readonly runId: string }): Promise<void> {
    const { definitionId } = await this.serve(flow)
    if (run.definitionId !== null && run.definitionId !== definitionId) throw otherDefinition(flow.slug, run.runId)
  }

  /** Page by page: a long run has many. */
  async *#events(runId: string, asking: Asking): AsyncGenerator<RunEvent> {
    const { adapter } = this.#options
    for (let afterId: string | undefined; ; ) {
      const options = { afterId, limit: EVENT_PAGE }
      const page = await this.#ask('readEvents', () => adapter.readEvents(runId, options), asking)
      yield* page
      if (page.length < EVENT_PAGE) return
      afterId = page.at(-1)?.id
    }
  }

  /** Before a run is under way, a store that does not answer is asked again as well. */
  #ask<T>(method: string, call: () => Promise<T>, asking: Asking = {}): Promise<T> {
    const { signal = NEVER, patienceMs } = { patienceMs: LEASE_TTL_MS, ...asking }
    const options = {
      clock: this.#clock,
      signal,
      onRetry: () => {},
      ...(patienceMs === undefined ? {} : { patienceMs }),
    }
    return untilAnswered(options, method, call)
  }

  /**
   * Renews the lease of a run that no runner's heartbeat covers. A claim that is gone (the run was cancelled, say) stops its
   * handlers. Any other failure is not told: the next beat may succeed.
   */
  #refresh(bound: WorkflowStateAdapter, runId: string, onLost: () => void): () => void {
    let isStopped = false
    let takeBack = () => {}
    const arm = () => {
      takeBack = this.#clock.after(this.#leaseTtlMs / 3, () => void beat())
    }
    const beat = async () => {
      try {
        await bound.refreshLease(runId, this.#leaseTtlMs)
      } catch (error) {
        if (isStarflowError(error, 'SF801')) return onLost()
      }
      if (!isStopped) arm()
    }
    arm()
    return () => {
      isStopped = true
      takeBack()
    }
  }
}

/** How long a store that does not answer is asked: until the signal is aborted, and for a lease unless it says otherwise. */
interface Asking {
  readonly signal?: AbortSignal
  /** Undefined: without an end. */
  readonly patienceMs?: number | undefined
}

async function executeUntilDrained(execution: RunExecution, drainSignal = NEVER): Promise<ExecutionResult> {
  const drain = () => execution.drain()
  drainSignal.addEventListener('abort', drain)
  if (drainSignal.aborted) drain()
  try {
    return await execution.execute()
  } finally {
    drainSignal.removeEventListener('abort', drain)
  }
}

const NEVER = sharedAbortController().signal

const EVENT_PAGE = 1000

function checkRunnable(flow: AnyFlow, waitHost: WaitHost | undefined): void {
  for (const step of flow.stepOrder.map((slug) => flow.getStepDefinition(slug))) {
    if (step.stepType === 'wait' && waitHost === undefined) {
      throw notRunnable(
        flow.slug,
        `its step "${step.slug}" waits, and there is no secret to sign a token with`,
        'Set STARFLOW_WAIT_TOKEN_SECRET, the same in every process that signs or checks tokens.',
      )
    }
    // A key that cannot sign is found here, not when the first wait opens.
    if (step.stepType === 'wait' && waitHost !== undefined) {
      signWaitToken({ placement: 'runner', runId: flow.slug, stepSlug: step.slug, expiresAt: 0 }, waitHost.tokenKey)
    }
    if (step.stepType !== 'wait' && step.transactional) {
      throw notRunnable(
        flow.slug,
        `its step "${step.slug}" is transactional, which only the SQL core can be`,
        'Run it on workers, or take `transactional` from the step.',
      )
    }
  }
}

function notRunnable(flowSlug: string, reason: string, hint: string): StarflowError {
  return new StarflowError({
    code: 'SF817',
    message: `Flow "${flowSlug}" cannot run here: ${reason}.`,
    detail: 'It was refused before anything of the run was written.',
    hint,
    fields: { flowSlug },
  })
}

function otherDefinition(flowSlug: string, runId: string): StarflowError {
  return new StarflowError({
    code: 'SF818',
    message: `Run ${runId} belongs to another definition of flow "${flowSlug}".`,
    detail: 'Its steps, their order, dependencies, conditions or modes differ from those of the code here.',
    hint: 'Run the code that it was started with until it has ended, or give the changed flow a new slug.',
    fields: { flowSlug, runId },
  })
}
