import type { Json, JsonObject, StepType } from '@starflow/dsl'
import type { ClaimState, ResumeOutcome, RunStatus } from '@starflow/engine'
import type { Scope } from '../workspace.ts'

export const PLACEMENTS = ['queue', 'runner'] as const
/** Where a run executes: on step queues and their workers, or as a whole on a runner. */
export type Placement = (typeof PLACEMENTS)[number]

/** What the API needs of the runs of one placement. Of a run outside of the scope it knows nothing, as if there were none. */
export interface RunPlacement {
  readonly placement: Placement
  /** Why a flow cannot run here; undefined when it can. */
  whyNot(flowSlug: string): Promise<WhyNot | undefined>
  start(start: StartRequest): Promise<{ readonly runId: string; readonly created: boolean }>
  read(scope: Scope, runId: string): Promise<RunDetail | undefined>
  /** What of a run moves, without reading what it was given or gives. Undefined when there is no such run. */
  readStatus(scope: Scope, runId: string): Promise<RunStatusView | undefined>
  /** True, or undefined when there is no such run. */
  has(scope: Scope, runId: string): Promise<true | undefined>
  /** Newest first. */
  list(scope: Scope, query: ListQuery): Promise<ListedRuns>
  /** A run's input, or its output, however large. Undefined when there is no such run. */
  readValue(scope: Scope, runId: string, which: 'input' | 'output'): Promise<ReadValue | undefined>
  /**
   * The output of a step, or of one task of it. Undefined when there is no such run.
   *
   * @throws StarflowError SF107
   */
  readStepOutput(scope: Scope, runId: string, step: string, task: number | undefined): Promise<ReadValue | undefined>
  /**
   * Tasks of a step, by index. Undefined when there is no such run.
   *
   * @throws StarflowError SF107
   */
  tasks(scope: Scope, runId: string, step: string, page: TaskPage): Promise<readonly TaskView[] | undefined>
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
  /**
   * A token for whoever is to decide. The wait need not be open yet. Undefined when there is no such run.
   *
   * @param lifeMs how long it is good; undefined: a week longer than the wait is open
   * @throws StarflowError SF206 without a key that signs, SF209 for a step that is no wait
   */
  issueWaitToken(
    scope: Scope,
    runId: string,
    stepSlug: string,
    lifeMs: number | undefined,
  ): Promise<IssuedWaitToken | undefined>
  /** @throws StarflowError SF207, SF208 for a token that is not good */
  resumeWithToken(token: string, payload: Json): Promise<ResumedWait>
}

export interface WhyNot {
  readonly detail: string
  readonly hint: string
  /** The flow is known here, and all the same cannot run. */
  readonly isKnown?: boolean
}

export interface StartRequest {
  readonly workspaceId: string
  readonly env: string
  readonly flowSlug: string
  readonly input: Json
  readonly idempotencyKey: string | undefined
  readonly delayMs: number
  readonly pool: string | undefined
  /** The span that starts it (W3C Trace Context). */
  readonly traceparent?: string | null | undefined
}

export interface ListQuery {
  readonly flowSlug: string | undefined
  /** Any of these. */
  readonly statuses: readonly RunStatus[] | undefined
  readonly env: string | undefined
  /** The beginning of an id, or a part of flow slug or error. */
  readonly search: string | undefined
  /** Made at this instant or later. */
  readonly createdFrom: string | undefined
  /** Made before this instant. */
  readonly createdBefore: string | undefined
  readonly before: string | undefined
  readonly limit: number
}

/** Some runs, and for each the cursor of the runs behind it: whoever merges lists may stop at any of them. */
export interface ListedRuns {
  readonly runs: readonly RunSummary[]
  /** The cursor behind the first `count` of these runs, and behind all that was looked at where that is all of them. */
  cursorBehind(count: number): Promise<string>
  readonly hasMore: boolean
  /**
   * Where a look ended before it had found enough: when the last run was made that it looked at. What is behind it may be newer than the
   * runs of another list.
   */
  readonly lookedUntil: string | null
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
  /** Whether a runner has it, or may take it; null of a run on step queues. */
  readonly claimState: ClaimState | null
  /** The runner that holds it. */
  readonly leasedBy: string | null
  readonly createdAt: string
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly error: string | null
}

export interface RunDetail extends RunSummary {
  /** Null where it is larger than `MAX_INLINE_BYTES`. */
  readonly input: Json
  readonly inputBytes: number
  /** Null where there is none yet, and where it is larger than `MAX_INLINE_BYTES`. */
  readonly output: Json
  readonly outputBytes: number | null
  readonly cancelReason: string | null
  readonly steps: readonly StepView[]
  /** Since when it waits for a runner, or did when it was taken last; null of a run on step queues. */
  readonly queuedAt: string | null
  readonly leaseUntil: string | null
}

/** What whoever waits for a run asks for again and again. */
export interface RunStatusView extends RunSummary {
  readonly steps: readonly StepStatusView[]
}

export interface StepStatusView {
  readonly step: string
  readonly status: StepState
  /** Of a map, as far as they are known: its elements, and those that have not ended. */
  readonly tasks: { readonly total: number; readonly left: number } | null
}

export const STEP_STATUSES = ['created', 'started', 'waiting', 'completed', 'failed', 'skipped'] as const
export type StepState = (typeof STEP_STATUSES)[number]

export interface StepView {
  readonly step: string
  readonly type: StepType
  readonly dependsOn: readonly string[]
  /** Null of what has none: waits, and steps that a runner executes. */
  readonly queue: string | null
  readonly status: StepState
  /** Tasks of a map, as far as they are known. */
  readonly tasks: TaskCounts | null
  /** Those of the task that had the most. */
  readonly attempts: number
  readonly maxAttempts: number | null
  /** That one attempt may take; of a wait, until it times out. */
  readonly timeoutSeconds: number | null
  /** When what it depends on had ended. */
  readonly readyAt: string | null
  /** When the next of its queued work may begin; of an open wait, when it times out. */
  readonly dueAt: string | null
  /** When its first attempt began. */
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly skipReason: string | null
  /** Why it failed; of a step that is still tried, why the last attempt did. */
  readonly error: string | null
  readonly errorName: string | null
  readonly errorStack: string | null
  /** Null where there is none yet, and where it is larger than `MAX_INLINE_BYTES`. */
  readonly output: Json
  readonly outputBytes: number | null
  /** The attempts of its first tasks, in order. */
  readonly spans: readonly AttemptSpan[]
}

export interface TaskCounts {
  readonly total: number
  readonly queued: number
  readonly started: number
  readonly completed: number
  readonly failed: number
}

export const ATTEMPT_OUTCOMES = [
  ...(['running', 'completed', 'failed', 'type_violation', 'stalled', 'released', 'cancelled', 'skipped'] as const),
]
/** How an attempt ended; `stalled`: whoever made it was not heard of again, `released`: it was given back. */
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

export interface AttemptSpan {
  readonly task: number
  readonly attempt: number
  readonly outcome: AttemptOutcome
  readonly worker: string | null
  readonly startedAt: string
  readonly endedAt: string | null
}

export const TASK_STATUSES = [
  ...(['queued', 'started', 'waiting', 'completed', 'failed', 'skipped', 'cancelled'] as const),
]
export type TaskState = (typeof TASK_STATUSES)[number]

export interface TaskPage {
  /** The last index of the page before. */
  readonly after: number | undefined
  readonly status: TaskState | undefined
  readonly limit: number
}

/** One unit of work of a step: of a map one for each element, else one. */
export interface TaskView {
  readonly task: number
  readonly status: TaskState
  readonly queuedAt: string | null
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly worker: string | null
  readonly attempts: readonly AttemptView[]
  readonly error: string | null
  /** Null where there is none yet. */
  readonly outputBytes: number | null
}

export interface AttemptView extends Omit<AttemptSpan, 'task' | 'startedAt'> {
  /** The worker function of the worker, while it is known. */
  readonly function: string | null
  readonly startedAt: string | null
  readonly error: string | null
  readonly errorName: string | null
  readonly errorStack: string | null
}

/** A value that is there, be it null. */
export interface ReadValue {
  readonly value: Json
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
  readonly flow: string
  readonly placement: Placement
  readonly step: string
  readonly openedAt: string
  /** When it times out; null: never. */
  readonly dueAt: string | null
}

export interface IssuedWaitToken {
  readonly token: string
  readonly expiresAt: string
}

export interface ResumeAnswer {
  readonly outcome: Exclude<ResumeOutcome, 'no_wait' | 'not_found'> | 'skipped'
}

export interface ResumedWait extends ResumeAnswer {
  readonly runId: string
  readonly step: string
}
