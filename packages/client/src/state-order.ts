import type { RunState, RunStatus, StepState, StepStatus } from './run-state.ts'

/**
 * What a broadcast may do to what is known.
 *
 * - `take`: it is newer, whatever came before: nothing ever leads from it to what is known.
 * - `ignore`: it is what is known, or older.
 * - `read`: a retry may have come between, so that the broadcast alone cannot tell which of the two is newer: the database is
 *   asked.
 */
export type Judgement = 'take' | 'ignore' | 'read'

// Completed and skipped are final. A retry leads from failed and cancelled back to started, and a late broadcast of a failure
// looks like a new one: neither is ever believed without asking.
const RUN_JUDGEMENTS = {
  started: { started: 'ignore', completed: 'take', failed: 'read', cancelled: 'read' },
  failed: { started: 'read', completed: 'take', failed: 'ignore', cancelled: 'read' },
  cancelled: { started: 'read', completed: 'take', failed: 'read', cancelled: 'ignore' },
  completed: { started: 'ignore', completed: 'ignore', failed: 'ignore', cancelled: 'ignore' },
} as const satisfies Record<RunStatus, Record<RunStatus, Judgement>>

const FINAL = {
  created: 'ignore',
  started: 'ignore',
  completed: 'ignore',
  failed: 'ignore',
  skipped: 'ignore',
} as const
const STEP_JUDGEMENTS = {
  created: { created: 'ignore', started: 'take', completed: 'take', failed: 'read', skipped: 'take' },
  started: { created: 'ignore', started: 'ignore', completed: 'take', failed: 'read', skipped: 'take' },
  failed: { created: 'ignore', started: 'read', completed: 'take', failed: 'ignore', skipped: 'take' },
  completed: FINAL,
  skipped: FINAL,
} as const satisfies Record<StepStatus, Record<StepStatus, Judgement>>

export function judgeRun(known: RunStatus, told: RunStatus): Judgement {
  return RUN_JUDGEMENTS[known]?.[told] ?? 'read'
}

export function judgeStep(known: StepStatus, told: StepStatus): Judgement {
  return STEP_JUDGEMENTS[known]?.[told] ?? 'read'
}

/**
 * The newer of what is known and what a read says. A read is right, with one exception: broadcasts may have come while it was
 * under way, and they tell only of what no read can take back.
 */
export function newerRun(known: RunState, read: RunState): RunState {
  return known.status === 'completed' && read.status !== 'completed' ? known : read
}

/** As {@link newerRun}, for a step. */
export function newerStep(known: StepState | undefined, read: StepState): StepState {
  if (known === undefined) return read
  const isFinal = known.status === 'completed' || known.status === 'skipped'
  return (isFinal && read.status !== known.status) || (known.status === 'started' && read.status === 'created')
    ? known
    : read
}

/** Whether nothing happens to a run any more, unless somebody retries it. */
export function hasEnded(status: RunStatus): boolean {
  return status !== 'started'
}
