import { isNonRetryableError, retryDelaySeconds } from '@starflow/dsl'
import type { TaskIdentity } from './events.ts'
import { describeError, type TaskError } from './task-error.ts'
import type { ClaimedTask, TaskReport, TaskToRelease } from './worker-sql.ts'

/** How an attempt ended: with something to report, or given back because the worker itself ended it. */
export type TaskOutcome =
  | { readonly kind: 'report'; readonly report: TaskReport }
  | { readonly kind: 'release'; readonly task: TaskToRelease }

export function completedOutcome(task: ClaimedTask, output: string): TaskOutcome {
  return { kind: 'report', report: { ...attemptOf(task), status: 'completed', output } }
}

/** A failure as the handler meant it: later at its own time, for good, or by the step's retry rules. */
export function failedOutcome(task: ClaimedTask, thrown: unknown): TaskOutcome {
  const error = describeError(thrown)
  const chosenDelay = readSafely(() => retryDelaySeconds(thrown))
  const permanent = readSafely(() => isNonRetryableError(thrown)) ?? false
  return {
    kind: 'report',
    report: {
      ...failedReport(task, error),
      ...(chosenDelay === undefined ? {} : { retryDelaySeconds: chosenDelay }),
      ...(permanent ? { permanent } : {}),
    },
  }
}

export function failedReport(task: TaskIdentity, error: TaskError) {
  return {
    ...attemptOf(task),
    status: 'failed',
    errorMessage: error.message,
    error: { name: error.name, ...(error.stack === undefined ? {} : { stack: error.stack }) },
  } as const
}

export function releaseOutcome(task: ClaimedTask, started: boolean): TaskOutcome {
  return { kind: 'release', task: { ...attemptOf(task), started } }
}

/** The fencing part of a task: which attempt of which task. */
export function attemptOf(task: TaskIdentity): TaskIdentity {
  return { runId: task.runId, stepSlug: task.stepSlug, taskIndex: task.taskIndex, attempt: task.attempt }
}

/** What a handler threw may be a proxy whose traps throw: then it is no error of ours. */
function readSafely<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
