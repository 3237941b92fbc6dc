import type { FlowShape, Json } from '@starflow/dsl'
import {
  type ListedRun,
  nodeId,
  parseNodeId,
  type QueueingStateAdapter,
  type RunEvent,
  type RunRecord,
  signWaitToken,
  verifyWaitToken,
  WAIT_TOKEN_LIFE_MS,
  type WaitTokenKey,
} from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import { MAX_LOOKED_AT_RUNS, MAX_PAGE_SIZE } from '../numbers.ts'
import { type Scope, workspaceOf } from '../workspace.ts'
import type { FlowCatalog } from './flow-catalog.ts'
import { inlined } from './json-size.ts'
import { newRunId } from './run-id.ts'
import type { RunFacts } from './run-log.ts'
import { RunLogs } from './run-logs.ts'
import type {
  EventFollower,
  EventPage,
  IssuedWaitToken,
  ListedRuns,
  ListQuery,
  OpenWait,
  ReadValue,
  ResumeAnswer,
  ResumedWait,
  RunDetail,
  RunEventView,
  RunPlacement,
  RunStatusView,
  RunSummary,
  StartRequest,
  TaskPage,
  TaskView,
} from './run-placement.ts'
import type { ServedFlows } from './served-flows.ts'
import { unknownStep } from './unknown-step.ts'

/** Runs that are executed as a whole by runners: what the port of the engine offers, within a scope. */
export class RunnerPlacement implements RunPlacement {
  readonly placement = 'runner'
  readonly #adapter: QueueingStateAdapter
  readonly #flows: FlowCatalog
  readonly #waitTokenKeys: readonly WaitTokenKey[]
  readonly #now: () => number
  readonly #served: ServedFlows
  readonly #logs: RunLogs
  /** By definition; one never changes. */
  readonly #shapes = new Map<string, FlowShape>()

  constructor(options: {
    readonly adapter: QueueingStateAdapter
    readonly flows: FlowCatalog
    readonly served: ServedFlows
    /** Those that verify; none: tokens are refused. */
    readonly waitTokenKeys: readonly WaitTokenKey[]
    readonly now: () => number
  }) {
    this.#adapter = options.adapter
    this.#flows = options.flows
    this.#served = options.served
    this.#waitTokenKeys = options.waitTokenKeys
    this.#now = options.now
    this.#logs = new RunLogs(options.adapter)
  }

  async whyNot(flowSlug: string) {
    if (this.#flows.find(flowSlug) === undefined) {
      return {
        detail: `It is not among the ${this.#flows.flows.length} flows that this server was started with.`,
        hint: 'Start the server where its flow modules are, or check the slug.',
      }
    }
    const refusal = this.#served.refusals.get(flowSlug)
    return refusal && { detail: refusal.message, hint: refusal.hint ?? '', isKnown: true }
  }

  async start(start: StartRequest): Promise<{ readonly runId: string; readonly created: boolean }> {
    return await this.#adapter.enqueueRun({
      runId: newRunId(this.#now()),
      templateId: start.flowSlug,
      workspaceId: start.workspaceId,
      env: start.env,
      input: start.input,
      definitionId: this.#served.definitionIds.get(start.flowSlug) ?? null,
      runnerPool: start.pool,
      idempotencyKey: start.idempotencyKey,
      delayMs: start.delayMs,
      traceparent: start.traceparent,
    })
  }

  async read(scope: Scope, runId: string): Promise<RunDetail | undefined> {
    const run = await this.#find(scope, runId)
    if (run === undefined) return undefined
    const [log, facts] = await Promise.all([this.#logs.read(runId), this.#factsOf(run, () => run.input)])
    const [input, output] = [inlined(run.input), inlined(run.status === 'success' ? run.output : undefined)]
    return {
      ...summaryOf(run),
      ...{ input: input.value, inputBytes: input.bytes ?? 0, output: output.value, outputBytes: output.bytes },
      cancelReason: log.cancelReason,
      steps: log.steps(facts),
      queuedAt: run.queuedAt,
      leaseUntil: run.leaseUntil,
    }
  }

  async readStatus(scope: Scope, runId: string): Promise<RunStatusView | undefined> {
    // A list leaves out what may be long; one of a whole id has one run.
    const { runs } = await this.#adapter.listRuns({ search: runId, workspaceId: workspaceOf(scope), limit: 1 })
    const [run] = runs
    if (run === undefined) return undefined
    // The input alone tells how many elements a map over it has; else it is left unread.
    const inputOfMap = async (shape: FlowShape | undefined) =>
      shape?.steps.some(({ stepType, dependencies: [source] }) => stepType === 'map' && !source)
        ? ((await this.#adapter.readRun(runId))?.input ?? null)
        : null
    const [log, facts] = await Promise.all([this.#logs.read(runId), this.#factsOf(run, inputOfMap)])
    const steps = log.steps(facts)
    return {
      ...summaryOf(run),
      steps: steps.map(({ step, status, tasks }) => ({
        ...{ step, status },
        tasks: tasks && { total: tasks.total, left: tasks.total - tasks.completed - tasks.failed },
      })),
    }
  }

  async has(scope: Scope, runId: string): Promise<true | undefined> {
    return (await this.#find(scope, runId)) && true
  }

  async readValue(scope: Scope, runId: string, which: 'input' | 'output'): Promise<ReadValue | undefined> {
    const run = await this.#find(scope, runId)
    return run && { value: run[which] }
  }

  async readStepOutput(
    scope: Scope,
    runId: string,
    step: string,
    task: number | undefined,
  ): Promise<ReadValue | undefined> {
    const run = await this.#find(scope, runId)
    if (run === undefined) return undefined
    if (task !== undefined) {
      const found = await this.tasks(scope, runId, step, { after: task - 1, status: undefined, limit: 1 })
      if (found?.[0]?.task !== task) throw unknownStep(runId, step)
    }
    const shape = (await this.#shapeOf(run))?.steps.find((each) => each.slug === step)
    if (shape?.stepType === 'map' && task === undefined) return { value: await this.#mapOutput(runId, step) }
    const node = nodeId(step, shape?.stepType === 'map' ? task : undefined)
    const events = await this.#adapter.readEvents(runId, { nodeId: node })
    if (shape === undefined && events.length === 0) throw unknownStep(runId, step)
    return { value: outputOf(events) }
  }

  async tasks(scope: Scope, runId: string, step: string, page: TaskPage): Promise<readonly TaskView[] | undefined> {
    const run = await this.#find(scope, runId)
    if (run === undefined) return undefined
    const [log, facts] = await Promise.all([this.#logs.read(runId), this.#factsOf(run, () => run.input)])
    const tasks = log.tasks(step, facts, page)
    if (tasks === undefined) throw unknownStep(runId, step)
    return tasks
  }

  async list(scope: Scope, query: ListQuery): Promise<ListedRuns> {
    const { env, flowSlug, statuses, search, createdFrom, createdBefore, before, limit } = query
    const filter = {
      ...{ workspaceId: workspaceOf(scope), env, templateId: flowSlug, statuses, search, createdFrom, createdBefore },
      ...{ before, lookAt: MAX_LOOKED_AT_RUNS },
    }
    const page = await this.#adapter.listRuns({ ...filter, limit })
    return {
      runs: page.runs.map(summaryOf),
      hasMore: page.next !== null,
      lookedUntil: page.lookedUntil,
      // A cursor is the adapter's own: where a merge stops in the middle of a page, that part is asked for once more.
      cursorBehind: async (count) => {
        if (count === page.runs.length && page.next !== null) return page.next
        const part = await this.#adapter.listRuns({ ...filter, limit: count })
        if (part.next === null) throw new Error('a page of runs has shrunk while it was read')
        return part.next
      },
    }
  }

  async events(scope: Scope, runId: string, { after, limit }: EventPage): Promise<readonly RunEventView[] | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const events = await this.#adapter.readEvents(runId, {
      afterId: after === undefined ? undefined : eventId(after),
      limit,
    })
    return events.map(viewOf)
  }

  async follow(scope: Scope, runId: string, after: string | undefined): Promise<EventFollower | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    // Within a run the ids of events grow in the order in which they become visible.
    let afterId = after === undefined ? undefined : eventId(after)
    return {
      next: async () => {
        const events = await this.#adapter.readEvents(runId, { afterId, limit: MAX_PAGE_SIZE })
        afterId = events.at(-1)?.id ?? afterId
        return events.map(viewOf)
      },
    }
  }

  async cancel(scope: Scope, runId: string, reason: string): Promise<boolean | undefined> {
    return (await this.#find(scope, runId)) && (await this.#adapter.cancelRun(runId, reason))
  }

  async retry(scope: Scope, runId: string): Promise<boolean | undefined> {
    return (await this.#find(scope, runId)) && (await this.#adapter.retryRun(runId))
  }

  async openWaits(scope: Scope, limit: number): Promise<readonly OpenWait[]> {
    const waits = await this.#adapter.listOpenWaits({ workspaceId: workspaceOf(scope), limit })
    return waits.map(({ runId, nodeId, templateId, openedAt, dueAt }) => ({
      ...{ runId, flow: templateId, placement: 'runner', step: nodeId, openedAt, dueAt },
    }))
  }

  async resumeWait(scope: Scope, runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer | undefined> {
    return (await this.#find(scope, runId)) && (await this.#resume(runId, stepSlug, payload))
  }

  async issueWaitToken(
    scope: Scope,
    runId: string,
    stepSlug: string,
    lifeMs: number | undefined,
  ): Promise<IssuedWaitToken | undefined> {
    const run = await this.#find(scope, runId)
    if (run === undefined) return undefined
    const wait = (await this.#adapter.readWaits(runId)).find(({ nodeId }) => nodeId === stepSlug)
    const step = (await this.#shapeOf(run))?.steps.find(({ slug }) => slug === stepSlug)
    if (wait === undefined && step?.stepType !== 'wait') throw noSuchWait(runId, stepSlug)
    const [key] = this.#waitTokenKeys
    if (key === undefined) throw noTokenKey()
    const now = this.#now()
    const openUntil = Math.max(now, wait?.dueAt == null ? now : Date.parse(wait.dueAt))
    const expiresAt = Math.floor((lifeMs === undefined ? openUntil + WAIT_TOKEN_LIFE_MS : now + lifeMs) / 1000)
    return {
      token: signWaitToken({ placement: 'runner', runId, stepSlug, expiresAt }, key),
      expiresAt: new Date(expiresAt * 1000).toISOString(),
    }
  }

  async resumeWithToken(token: string, payload: Json): Promise<ResumedWait> {
    const { runId, stepSlug } = verifyWaitToken(token, this.#waitTokenKeys, this.#now())
    return { runId, step: stepSlug, ...(await this.#resume(runId, stepSlug, payload)) }
  }

  async #resume(runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer> {
    const outcome = await this.#adapter.resumeWait(runId, stepSlug, payload)
    if (outcome === 'not_found' || outcome === 'no_wait') throw noSuchWait(runId, stepSlug)
    return { outcome }
  }

  async #find(scope: Scope, runId: string): Promise<RunRecord | undefined> {
    const run = await this.#adapter.readRun(runId)
    return run !== null && (scope === 'every' || scope.workspaceId === run.workspaceId) ? run : undefined
  }

  /** That of its elements; null while one of them has none. */
  async #mapOutput(runId: string, step: string): Promise<Json> {
    const events = await this.#adapter.readEvents(runId)
    const own = outputOf(events.filter((event) => event.nodeId === step))
    if (own !== null) return own
    const outputs: Json[] = []
    for (const { type, nodeId: node, payload } of events) {
      const { stepSlug, index } = node === null ? NO_NODE : parseNodeId(node)
      if (type === 'node_complete' && stepSlug === step && index !== undefined) outputs[index] = payload?.output ?? null
    }
    const run = await this.#adapter.readRun(runId)
    const log = await this.#logs.read(runId)
    const view =
      run === null ? undefined : log.steps(await this.#factsOf(run, () => run.input)).find((each) => each.step === step)
    return view?.status === 'completed' ? outputs : null
  }

  async #factsOf(run: ListedRun, readInput: (shape: FlowShape | undefined) => Json | Promise<Json>): Promise<RunFacts> {
    const shape = await this.#shapeOf(run)
    const hasWaits = shape === undefined || shape.steps.some((step) => step.stepType === 'wait')
    const [waits, input] = await Promise.all([hasWaits ? this.#adapter.readWaits(run.runId) : [], readInput(shape)])
    const open = waits.filter((wait) => wait.status === 'open').map(({ nodeId, dueAt }) => [nodeId, dueAt] as const)
    return { shape, startedAt: run.startedAt, input, waitsDueAt: new Map(open) }
  }

  /** As it was when the run started, whatever this process was started with. */
  async #shapeOf({ templateId, definitionId }: ListedRun): Promise<FlowShape | undefined> {
    if (definitionId === null || definitionId === this.#served.definitionIds.get(templateId)) {
      return this.#flows.shapeOf(templateId)
    }
    const known = this.#shapes.get(definitionId)
    if (known !== undefined) return known
    const shape = (await this.#adapter.readDefinition(definitionId))?.shape
    if (shape !== undefined) this.#shapes.set(definitionId, shape)
    return shape
  }
}

function summaryOf(run: ListedRun): RunSummary {
  const { runId, templateId, workspaceId, env, status, runnerPool, claimState, leasedBy } = run
  const { createdAt, startedAt, error } = run
  return {
    ...{ runId, flow: templateId, placement: 'runner', workspace: workspaceId, env, status, pool: runnerPool },
    ...{ claimState, leasedBy, createdAt, startedAt },
    endedAt: run.completedAt ?? run.cancelledAt,
    error,
  }
}

const NO_NODE = { stepSlug: '', index: undefined } as const

/** Null while there is none. */
function outputOf(events: readonly RunEvent[]): Json {
  return events.findLast(({ type }) => type === 'node_complete')?.payload?.output ?? null
}

function viewOf({ id, type, nodeId, createdAt, payload }: RunEvent): RunEventView {
  return { id, type, node: nodeId, at: createdAt, payload }
}

/** Ids are of type bigint in Postgres, and of no more in SQLite. */
const MAX_EVENT_ID = BigInt('9223372036854775807')

/** @throws StarflowError SF902 */
function eventId(text: string): string {
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= MAX_EVENT_ID) return text
  throw new StarflowError({
    code: 'SF902',
    message: 'The query of the request is not valid.',
    detail: 'after: this is no id of an event of this run.',
    hint: 'Give the id of the last event that was read, or leave it out.',
  })
}

function noSuchWait(runId: string, stepSlug: string): StarflowError {
  return new StarflowError({
    code: 'SF209',
    message: `There is no wait "${stepSlug}" in run ${runId}.`,
    detail: 'The run, or the wait in its flow, does not exist.',
    hint: 'GET /api/waits lists what is open.',
    fields: { runId, stepSlug },
  })
}

function noTokenKey(): StarflowError {
  return new StarflowError({
    code: 'SF206',
    message: 'There is no key to sign a wait token with.',
    detail: 'STARFLOW_WAIT_TOKEN_SECRET is not set on this server.',
    hint: 'Set it, to the same secret in every process on this database.',
  })
}
