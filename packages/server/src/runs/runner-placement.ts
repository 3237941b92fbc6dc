import type { Json } from '@starflow/dsl'
import {
  type QueueingStateAdapter,
  type RunEvent,
  type RunRecord,
  verifyWaitToken,
  type WaitTokenKey,
} from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import { MAX_PAGE_SIZE } from '../numbers.ts'
import { type Scope, workspaceOf } from '../workspace.ts'
import type { FlowCatalog } from './flow-catalog.ts'
import { madeAt, newRunId } from './run-id.ts'
import type {
  EventFollower,
  EventPage,
  ListedRuns,
  ListQuery,
  OpenWait,
  ResumeAnswer,
  ResumedWait,
  RunDetail,
  RunEventView,
  RunPlacement,
  RunSummary,
  StartRequest,
} from './run-placement.ts'
import type { ServedFlows } from './served-flows.ts'
import { stepsOfRun } from './steps-of-run.ts'

/** Runs that are executed as a whole by runners: what the port of the engine offers, within a scope. */
export class RunnerPlacement implements RunPlacement {
  readonly placement = 'runner'
  readonly #adapter: QueueingStateAdapter
  readonly #flows: FlowCatalog
  readonly #waitTokenKeys: readonly WaitTokenKey[]
  readonly #now: () => number
  readonly #served: ServedFlows

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
  }

  async whyNot(flowSlug: string) {
    if (this.#flows.find(flowSlug) === undefined) {
      return {
        detail: `It is not among the ${this.#flows.flows.length} flows that this server was started with.`,
        hint: 'Start the server where its flow modules are, or check the slug.',
      }
    }
    const refusal = this.#served.refusals.get(flowSlug)
    return refusal && { detail: [refusal.message, refusal.detail].join(' '), hint: refusal.hint ?? '' }
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
    })
  }

  async read(scope: Scope, runId: string): Promise<RunDetail | undefined> {
    const run = await this.#find(scope, runId)
    if (run === undefined) return undefined
    const events = await this.#allEvents(runId)
    const shape = this.#flows.shapeOf(run.templateId)
    const slugs = shape?.steps.map((step) => step.slug) ?? []
    const waits = new Set(shape?.steps.filter((step) => step.stepType === 'wait').map((step) => step.slug))
    return {
      ...summaryOf(run),
      input: run.input,
      output: run.output,
      steps: stepsOfRun(events, slugs, waits),
      leasedBy: run.leasedBy,
      leaseUntil: run.leaseUntil,
    }
  }

  async list(scope: Scope, query: ListQuery): Promise<ListedRuns> {
    const filter = {
      workspaceId: workspaceOf(scope),
      env: query.env,
      templateId: query.flowSlug,
      status: query.status,
      before: query.before,
    }
    const page = await this.#adapter.listRuns({ ...filter, limit: query.limit })
    return {
      runs: page.runs.map(summaryOf),
      hasMore: page.next !== null,
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
    return waits.map(({ runId, nodeId, openedAt, dueAt }) => ({
      ...{ runId, placement: 'runner', step: nodeId, openedAt, dueAt },
    }))
  }

  async resumeWait(scope: Scope, runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer | undefined> {
    return (await this.#find(scope, runId)) && (await this.#resume(runId, stepSlug, payload))
  }

  async resumeWithToken(token: string, payload: Json): Promise<ResumedWait> {
    const { runId, stepSlug } = verifyWaitToken(token, this.#waitTokenKeys, this.#now())
    return { runId, step: stepSlug, ...(await this.#resume(runId, stepSlug, payload)) }
  }

  async #resume(runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer> {
    const outcome = await this.#adapter.resumeWait(runId, stepSlug, payload)
    if (outcome !== 'not_found') return { outcome }
    throw new StarflowError({
      code: 'SF209',
      message: `There is no wait "${stepSlug}" in run ${runId}.`,
      detail: 'The run, or the wait in its flow, does not exist.',
      hint: 'GET /api/waits lists what is open.',
      fields: { runId, stepSlug },
    })
  }

  async #find(scope: Scope, runId: string): Promise<RunRecord | undefined> {
    const run = await this.#adapter.readRun(runId)
    return run !== null && (scope === 'every' || scope.workspaceId === run.workspaceId) ? run : undefined
  }

  async #allEvents(runId: string): Promise<readonly RunEvent[]> {
    const events: RunEvent[] = []
    for (;;) {
      const page = await this.#adapter.readEvents(runId, { afterId: events.at(-1)?.id, limit: MAX_PAGE_SIZE })
      events.push(...page)
      if (page.length < MAX_PAGE_SIZE) return events
    }
  }
}

function summaryOf(run: RunRecord): RunSummary {
  const { runId, templateId, workspaceId, env, status, runnerPool, startedAt, error } = run
  return {
    ...{ runId, flow: templateId, placement: 'runner', workspace: workspaceId, env, status, pool: runnerPool },
    createdAt: madeAt(runId)?.toISOString() ?? run.startedAt ?? run.queuedAt ?? '',
    startedAt,
    endedAt: run.completedAt ?? run.cancelledAt,
    error,
  }
}

function viewOf({ id, type, nodeId, createdAt, payload }: RunEvent): RunEventView {
  return { id, type, node: nodeId, at: createdAt, payload }
}

/** @throws StarflowError SF902 */
function eventId(text: string): string {
  if (/^\d{1,19}$/.test(text)) return text
  throw new StarflowError({
    code: 'SF902',
    message: 'The query of the request is not valid.',
    detail: 'after: this is no id of an event of this run.',
    hint: 'Give the id of the last event that was read, or leave it out.',
  })
}
