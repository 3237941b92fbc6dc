import type { Json, JsonObject } from '@starflow/dsl'
import type { ResumeOutcome, RunStatus } from '@starflow/engine'
import type { Scope } from '../workspace.ts'

export const PLACEMENTS = ['queue', 'runner'] as const
/** Where a run executes: on step queues and their workers, or as a whole on a runner. */
export type Placement = (typeof PLACEMENTS)[number]

/** What the API needs of the runs of one placement. Of a run outside of the scope it knows nothing, as if there were none. */
export interface RunPlacement {
  readonly placement: Placement
  /** Why a flow cannot run here; undefined when it can. */
  whyNot(flowSlug: string): Promise<{ readonly detail: string; readonly hint: string } | undefined>
  start(start: StartRequest): Promise<{ readonly runId: string; readonly created: boolean }>
  read(scope: Scope, runId: string): Promise<RunDetail | undefined>
  /** Newest first. */
  list(scope: Scope, query: ListQuery): Promise<ListedRuns>
  /** In order, behind `after`. Undefined when there is no such run. */
  events(scope: Scope, runId: string, page: EventPage): Promise<readonly RunEventView[] | undefined>
  /** Gives events as they come, those behind `after` first. Undefined when there is no such run. */
  follow(scope: Scope, runId: string, after: string | undefined): Promise<EventFollower | undefined>
  /** False when the run had ended already; undefined when there is none. */
  cancel(scope: Scope, runId: string, reason: string): Promise<boolean | undefined>
  /** False when it has not ended, or was a success; undefined when there is none. */
  retry(scope: Scope, runId: string): Promise<boolean | undefined>
  /** Open ones, oldest first. */
  openWaits(scope: Scope, limit: number): Promise<readonly OpenWait[]>
  /** Undefined when there is no such run. */
  resumeWait(scope: Scope, runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer | undefined>
  /** @throws StarflowError SF207, SF208 for a token that is not good */
  resumeWithToken(token: string, payload: Json): Promise<ResumedWait>
}

export interface StartRequest {
  readonly workspaceId: string
  readonly env: string
  readonly flowSlug: string
  readonly input: Json
  readonly idempotencyKey: string | undefined
  readonly delayMs: number
  readonly pool: string | undefined
}

export interface ListQuery {
  readonly flowSlug: string | undefined
  readonly status: RunStatus | undefined
  readonly env: string | undefined
  readonly before: string | undefined
  readonly limit: number
}

/** Some runs, and for each the cursor of the runs behind it: whoever merges lists may stop at any of them. */
export interface ListedRuns {
  readonly runs: readonly RunSummary[]
  /** The cursor behind the first `count` of these runs. */
  cursorBehind(count: number): Promise<string>
  readonly hasMore: boolean
}

export interface RunSummary {
  readonly runId: string
  readonly flow: string
  readonly placement: Placement
  /** Null: it was started in SQL and belongs to no workspace. */
  readonly workspace: string | null
  readonly env: string | null
  readonly status: RunStatus
  readonly pool: string | null
  readonly createdAt: string
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly error: string | null
}

export interface RunDetail extends RunSummary {
  readonly input: Json
  readonly output: Json
  readonly steps: readonly StepView[]
  /** Of a runner: who holds the run. */
  readonly leasedBy: string | null
  readonly leaseUntil: string | null
}

export const STEP_STATUSES = ['created', 'started', 'waiting', 'completed', 'failed', 'skipped'] as const
export type StepState = (typeof STEP_STATUSES)[number]

export interface StepView {
  readonly step: string
  readonly status: StepState
  /** Tasks of a map, and how many of them have completed. */
  readonly tasks: { readonly total: number; readonly completed: number } | null
  readonly attempts: number
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly skipReason: string | null
  readonly error: string | null
  readonly output: Json
}

export interface EventPage {
  readonly after: string | undefined
  readonly limit: number
}

export interface RunEventView {
  readonly id: string
  readonly type: string
  /** The step, or `step[3]` for an element of a map. */
  readonly node: string | null
  readonly at: string
  readonly payload: JsonObject | null
}

export interface EventFollower {
  /** What is new since the last call; nothing when nothing is. */
  next(): Promise<readonly RunEventView[]>
}

/** With one of these a run has ended; only a retry goes on from there. */
export const END_EVENTS: readonly string[] = ['run_completed', 'run_failed', 'run_cancelled']

export interface OpenWait {
  readonly runId: string
  readonly placement: Placement
  readonly step: string
  readonly openedAt: string | null
  readonly dueAt: string | null
}

export interface ResumeAnswer {
  readonly outcome: ResumeOutcome | 'skipped'
}

export interface ResumedWait extends ResumeAnswer {
  readonly runId: string
  readonly step: string
}
