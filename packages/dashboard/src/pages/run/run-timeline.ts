import type { TimedAttempt, TimedRun, TimedStep } from '../../waterfall/waterfall.ts'
import { shownStatus } from './run-marks.ts'
import type { RunDetail, StepView } from './run-queries.ts'
import { lookOfOutcome } from './run-words.ts'

/** A run as its bars on the time axis tell it. */
export function timedRun(run: RunDetail): TimedRun {
  return { createdAt: run.createdAt, endedAt: run.endedAt, steps: run.steps.map((step) => timedStep(run, step)) }
}

function timedStep(run: RunDetail, step: StepView): TimedStep {
  const { step: slug, type, startedAt, readyAt, endedAt } = step
  return {
    step: slug,
    type,
    status: shownStatus(run, step),
    readyAt,
    startedAt: startedAt ?? (type === 'wait' ? readyAt : null),
    endedAt,
    attempts: attemptsOf(step),
  }
}

/**
 * Attempts of a step's one task. Between two of them lies the delay of the retry; before the first one it waits for a worker, and
 * so it does after the last one when it is to be tried again.
 */
function attemptsOf({ type, status, readyAt, dueAt, spans }: StepView): readonly TimedAttempt[] {
  if (type !== 'single') return []
  const attempts = spans.map((span, index): TimedAttempt => {
    const before = spans[index - 1]
    return {
      attempt: span.attempt,
      status: lookOfOutcome(span.outcome),
      queuedAt: before === undefined ? readyAt : before.endedAt,
      delayedUntil: before === undefined ? null : span.startedAt,
      startedAt: span.startedAt,
      endedAt: span.endedAt,
    }
  })
  const last = spans.at(-1)
  const isWaiting = (status === 'created' || status === 'started') && readyAt !== null && last?.endedAt !== null
  if (!isWaiting) return attempts
  const next: TimedAttempt = {
    ...{ attempt: (last?.attempt ?? 0) + 1, status: 'created', startedAt: null, endedAt: null },
    ...{ queuedAt: last?.endedAt ?? readyAt, delayedUntil: dueAt },
  }
  return [...attempts, next]
}
