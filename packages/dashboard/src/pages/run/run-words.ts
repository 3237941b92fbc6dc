import type { StatusName } from '../../design/status-look.ts'
import type { AttemptOutcome } from './run-queries.ts'

const SKIP_REASONS: Readonly<Record<string, string>> = {
  condition_unmet: 'Its condition was not met.',
  dependency_skipped: 'A step that it depends on was skipped.',
  handler_failed: 'All its attempts failed, and its flow says to go on without it.',
}

/** Why a step was skipped, in a sentence; a reason that is not known here as it is. */
export function skipReasonText(reason: string): string {
  return SKIP_REASONS[reason] ?? `It was skipped: ${reason}.`
}

/** How an attempt ended, as a status looks. */
export function lookOfOutcome(outcome: AttemptOutcome): StatusName {
  switch (outcome) {
    case 'running':
      return 'started'
    case 'type_violation':
      return 'failed'
    default:
      return outcome
  }
}

const OUTCOMES: Readonly<Partial<Record<AttemptOutcome, string>>> = {
  type_violation: 'Its output is not what the flow needs there.',
  stalled: 'Its worker was not heard of again, so that the work was given out anew.',
  released: 'Its worker gave it back before it was done. It does not count.',
  cancelled: 'The run was cancelled while it was under way.',
  skipped: 'The step was skipped while it was under way.',
}

/** What there is to say about an outcome beside its word. */
export function outcomeText(outcome: AttemptOutcome): string | undefined {
  return OUTCOMES[outcome]
}

const EVENTS: Readonly<Record<string, string>> = {
  run_started: 'run started',
  run_paused: 'run paused: it waits',
  run_resumed: 'run resumed',
  run_completed: 'run completed',
  run_failed: 'run failed',
  run_cancelled: 'run cancelled',
  run_retried: 'run started again',
  run_released: 'run given back to the queue',
  runner_lost: 'runner lost',
  node_start: 'started',
  node_complete: 'completed',
  node_retry: 'to be tried again',
  node_error: 'failed',
  node_skip: 'skipped',
  phase: 'phase',
  variable: 'variable set',
}

/** What happened, as the list of events says it. */
export function eventText(type: string): string {
  return EVENTS[type] ?? type.replaceAll('_', ' ')
}

const RESUMES: Readonly<Record<string, string>> = {
  accepted: 'The decision counts, and the run goes on.',
  early: 'The wait is not open yet. The decision is kept, and counts when it opens.',
  already_resumed: 'Somebody decided before; that decision counts.',
  timed_out: 'Too late: the wait has timed out.',
  skipped: 'The wait was skipped; there is nothing to decide.',
  run_ended: 'The run has ended; there is nothing to decide.',
}

/** What became of a decision. */
export function resumeText(outcome: string): string {
  return RESUMES[outcome] ?? outcome
}

/** Whether a decision is what the run goes on with. */
export function countsAsDecided(outcome: string): boolean {
  return outcome === 'accepted' || outcome === 'early'
}
