import type { Json } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { isTraceparent, type Tracing } from '@starflow/tracing'
import type { Scope } from '../workspace.ts'
import type { FlowCatalog } from './flow-catalog.ts'
import { decodeCursor, encodeCursor, type PageCursor } from './page-cursor.ts'
import type {
  EventFollower,
  EventPage,
  IssuedWaitToken,
  ListedRuns,
  ListQuery,
  OpenWait,
  Placement,
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
  WhyNot,
} from './run-placement.ts'

/** All runs that a server knows, wherever they execute. */
export class RunDirectory {
  readonly #placements: readonly RunPlacement[]
  readonly #flows: FlowCatalog
  readonly #tracing: Tracing | undefined

  /** The first placement that can run a flow is the one that a start takes when it does not say. */
  constructor(placements: readonly RunPlacement[], flows: FlowCatalog, tracing?: Tracing | undefined) {
    this.#placements = placements
    this.#flows = flows
    this.#tracing = tracing
  }

  /**
   * Starts a run. Without a placement: queue where the flow is compiled in the database, else a runner; a pool is for runners. What its steps
   * do belongs to the span of the start, or, where this server does not trace, to that of whoever asked for it.
   *
   * @throws StarflowError SF201, SF202, SF203, SF910
   */
  async start(
    request: StartRequest & { readonly placement: Placement | undefined },
  ): Promise<{ readonly runId: string; readonly created: boolean; readonly placement: Placement }> {
    const target = await this.#targetOf(request.flowSlug, request.placement, request.pool)
    await this.#flows.checkInput(request.flowSlug, request.input)
    return { ...(await this.#startTraced(target, request)), placement: target.placement }
  }

  async #startTraced(target: RunPlacement, request: StartRequest) {
    const { traceparent, flowSlug, workspaceId, env } = request
    if (this.#tracing === undefined) {
      return await target.start({ ...request, traceparent: isTraceparent(traceparent) ? traceparent : null })
    }
    const attributes = {
      ...{ 'starflow.flow': flowSlug, 'starflow.placement': target.placement },
      ...{ 'starflow.workspace': workspaceId, 'starflow.env': env },
    }
    return await this.#tracing.inSpan({ name: `start ${flowSlug}`, kind: 'producer', attributes }, async (span) => {
      const started = await target.start({ ...request, traceparent: span.traceparent })
      span.set({ 'starflow.run_id': started.runId, 'starflow.created': started.created })
      return started
    })
  }

  /**
   * Where a start would go now. Given with the start, it goes there whatever is compiled meanwhile.
   *
   * @throws StarflowError SF201, SF910
   */
  async placementOf(flowSlug: string, placement: Placement | undefined, pool: string | undefined): Promise<Placement> {
    return (await this.#targetOf(flowSlug, placement, pool)).placement
  }

  /** @throws StarflowError SF802 */
  async read(scope: Scope, runId: string): Promise<RunDetail> {
    return await this.#first(runId, (placement) => placement.read(scope, runId))
  }

  /** @throws StarflowError SF802 */
  async readStatus(scope: Scope, runId: string): Promise<RunStatusView> {
    return await this.#first(runId, (placement) => placement.readStatus(scope, runId))
  }

  /**
   * One page over all placements, the newest first. It may have fewer runs than its limit and a next: a page looks at no more than
   * `MAX_LOOKED_AT_RUNS` runs.
   */
  async list(
    scope: Scope,
    query: Omit<ListQuery, 'before'> & {
      readonly cursor: string | undefined
      readonly placement: Placement | undefined
    },
  ): Promise<{ readonly runs: readonly RunSummary[]; readonly next: string | null }> {
    const from: PageCursor = query.cursor === undefined ? {} : decodeCursor(query.cursor)
    const asked = this.#placements.filter(
      ({ placement }) => from[placement] !== null && (query.placement ?? placement) === placement,
    )
    const lists = await Promise.all(
      asked.map((source) => source.list(scope, { ...query, before: from[source.placement] ?? undefined })),
    )
    const counts = mergedCounts(lists, query.limit)
    const behind = await Promise.all(
      lists.map((list, index) => cursorBehind(list, counts[index]!, from[asked[index]!.placement])),
    )
    const next = Object.fromEntries(asked.map(({ placement }, index) => [placement, behind[index]]))
    return {
      runs: newestFirst(lists.flatMap((list, index) => list.runs.slice(0, counts[index]))),
      next: behind.every((cursor) => cursor === null) ? null : encodeCursor({ queue: null, runner: null, ...next }),
    }
  }

  /** That there is such a run. @throws StarflowError SF802 */
  async check(scope: Scope, runId: string): Promise<void> {
    await this.#first(runId, (placement) => placement.has(scope, runId))
  }

  /** @throws StarflowError SF802 */
  async readValue(scope: Scope, runId: string, which: 'input' | 'output'): Promise<ReadValue> {
    return await this.#first(runId, (placement) => placement.readValue(scope, runId, which))
  }

  /** @throws StarflowError SF107, SF802 */
  async readStepOutput(scope: Scope, runId: string, step: string, task: number | undefined): Promise<ReadValue> {
    return await this.#first(runId, (placement) => placement.readStepOutput(scope, runId, step, task))
  }

  /** @throws StarflowError SF107, SF802 */
  async tasks(scope: Scope, runId: string, step: string, page: TaskPage): Promise<readonly TaskView[]> {
    return await this.#first(runId, (placement) => placement.tasks(scope, runId, step, page))
  }

  /** @throws StarflowError SF802 */
  async events(scope: Scope, runId: string, page: EventPage): Promise<readonly RunEventView[]> {
    return await this.#first(runId, (placement) => placement.events(scope, runId, page))
  }

  /** @throws StarflowError SF802 */
  async follow(scope: Scope, runId: string, after: string | undefined): Promise<EventFollower> {
    return await this.#first(runId, (placement) => placement.follow(scope, runId, after))
  }

  /** @throws StarflowError SF802 */
  async cancel(scope: Scope, runId: string, reason: string): Promise<boolean> {
    return await this.#first(runId, (placement) => placement.cancel(scope, runId, reason))
  }

  /** @throws StarflowError SF802 */
  async retry(scope: Scope, runId: string): Promise<boolean> {
    return await this.#first(runId, (placement) => placement.retry(scope, runId))
  }

  /** Oldest first. */
  async openWaits(scope: Scope, limit: number): Promise<readonly OpenWait[]> {
    const waits = await Promise.all(this.#placements.map((placement) => placement.openWaits(scope, limit)))
    return waits
      .flat()
      .sort((left, right) => compareText(left.openedAt, right.openedAt))
      .slice(0, limit)
  }

  /** @throws StarflowError SF209, SF802 */
  async resumeWait(scope: Scope, runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer> {
    return await this.#first(runId, (placement) => placement.resumeWait(scope, runId, stepSlug, payload))
  }

  /** @throws StarflowError SF206, SF209, SF802 */
  async issueWaitToken(
    scope: Scope,
    runId: string,
    stepSlug: string,
    lifeMs: number | undefined,
  ): Promise<IssuedWaitToken> {
    return await this.#first(runId, (placement) => placement.issueWaitToken(scope, runId, stepSlug, lifeMs))
  }

  /** @throws StarflowError SF207, SF208, SF209 */
  async resumeWithToken(token: string, payload: Json): Promise<ResumedWait> {
    const target =
      this.#placements.find(({ placement }) => placement === placementOfToken(token)) ?? this.#placements[0]!
    return await target.resumeWithToken(token, payload)
  }

  async #targetOf(flowSlug: string, placement: Placement | undefined, pool: string | undefined): Promise<RunPlacement> {
    const wanted = placement ?? (pool === undefined ? undefined : 'runner')
    if (wanted === 'queue' && pool !== undefined) throw poolIsForRunners(flowSlug)
    return await this.#placementFor(flowSlug, wanted)
  }

  async #placementFor(flowSlug: string, wanted: Placement | undefined): Promise<RunPlacement> {
    const reasons: { readonly placement: Placement; readonly reason: WhyNot }[] = []
    for (const candidate of this.#placements) {
      if (wanted !== undefined && candidate.placement !== wanted) continue
      const reason = await candidate.whyNot(flowSlug)
      if (reason === undefined) return candidate
      if (wanted !== undefined) throw unavailable(flowSlug, wanted, reason)
      reasons.push({ placement: candidate.placement, reason })
    }
    if (wanted !== undefined) throw unavailable(flowSlug, wanted, NO_DATABASE)
    const known = reasons.find(({ reason }) => reason.isKnown)
    if (known !== undefined) throw unavailable(flowSlug, known.placement, known.reason)
    throw new StarflowError({
      code: 'SF201',
      message: `Flow "${flowSlug}" is not known here.`,
      detail: reasons.map(({ reason }) => reason.detail).join(' '),
      hint: 'Check the slug, which counts case; /api/flows lists the flows.',
      fields: { flowSlug },
    })
  }

  /** Run ids are unique over placements: the first that knows the run answers. */
  async #first<T>(runId: string, ask: (placement: RunPlacement) => Promise<T | undefined>): Promise<T> {
    for (const placement of this.#placements) {
      const answer = await ask(placement)
      if (answer !== undefined) return answer
    }
    throw new StarflowError({
      code: 'SF802',
      message: `Run ${runId} does not exist.`,
      detail: 'There is none of this id in the workspace that the request is about.',
      hint: 'Check the id and the workspace.',
      fields: { runId },
    })
  }
}

const NO_DATABASE = {
  detail: 'This server has no database to start it in.',
  hint: 'Set SUPABASE_URL, its key and SUPABASE_DB_URL, or start the run on a runner.',
}

/**
 * How many runs of each list the first `limit` of all are, when each list keeps its own order. Where the look of a list ended early, nothing
 * older is taken of the others: what it did not look at yet comes first.
 */
function mergedCounts(lists: readonly ListedRuns[], limit: number): number[] {
  const counts = lists.map(() => 0)
  const newestEnd = lists.reduce(
    (end, { lookedUntil }) => (lookedUntil !== null && lookedUntil > end ? lookedUntil : end),
    '',
  )
  for (let taken = 0; taken < limit; taken++) {
    const heads = lists.map((list, index) => {
      const head = list.runs[counts[index]!]?.createdAt
      return head !== undefined && head >= newestEnd ? head : undefined
    })
    const newest = heads.reduce<string | undefined>(
      (found, head) => (head !== undefined && (found === undefined || head > found) ? head : found),
      undefined,
    )
    if (newest === undefined) break
    counts[heads.indexOf(newest)]!++
  }
  return counts
}

/** Null behind the last run; what was not reached stays where it was. */
async function cursorBehind(
  list: ListedRuns,
  count: number,
  from: string | null | undefined,
): Promise<string | null | undefined> {
  if (count === list.runs.length && !list.hasMore) return null
  return count === 0 && list.runs.length > 0 ? from : await list.cursorBehind(count)
}

function newestFirst(runs: readonly RunSummary[]): readonly RunSummary[] {
  return [...runs].sort((left, right) => compareText(right.createdAt, left.createdAt))
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** What the body of a wait token claims, which its placement then verifies. Undefined for what cannot be one. */
export function placementOfToken(token: string): string | undefined {
  try {
    const body: unknown = JSON.parse(Buffer.from(token.split('.')[2] ?? '', 'base64url').toString('utf8'))
    return (body as { placement?: string }).placement
  } catch {
    return undefined
  }
}

function unavailable(
  flowSlug: string,
  placement: Placement,
  { detail, hint }: Pick<WhyNot, 'detail' | 'hint'>,
): StarflowError {
  return new StarflowError({
    code: 'SF910',
    message: `Flow "${flowSlug}" cannot run in placement "${placement}" here.`,
    detail,
    hint,
    fields: { flowSlug, placement },
  })
}

function poolIsForRunners(flowSlug: string): StarflowError {
  return unavailable(flowSlug, 'queue', {
    detail: 'A pool says which runners may claim the run, and workers of step queues have none.',
    hint: 'Leave pool out, or set placement to runner.',
  })
}
