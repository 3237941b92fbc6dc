import { isNonRetryableError, retryDelaySeconds } from '@starflow/dsl'
import { type DescribedError, describeError } from '@starflow/errors'
import { isPlatformFailure } from './platform-failure.ts'
import { attemptOf, type WorkIdentity } from './work-identity.ts'

/** What a worker says of an attempt that has ended. */
export type AttemptReport = WorkIdentity &
  (
    | { readonly status: 'completed'; readonly output: string }
    | {
        readonly status: 'failed'
        readonly errorMessage: string
        readonly error?: { readonly name?: string; readonly stack?: string }
        /** Seconds until the next attempt, as the handler chose them. */
        readonly retryDelaySeconds?: number
        /** No further attempt, whatever is left of the budget. */
        readonly permanent?: boolean
        /** The platform failed, not the handler: the attempt does not count, within a bound. */
        readonly forgiven?: boolean
      }
  )

export type TaskToGiveBack = WorkIdentity & {
  /** Whether its handler had begun: then the attempt counts. */
  readonly started: boolean
}

/** How an attempt ended: with something to report, or given back because the worker itself ended it. */
export type TaskOutcome =
  | { readonly kind: 'report'; readonly report: AttemptReport }
  | { readonly kind: 'release'; readonly task: TaskToGiveBack }
  /** The task ended without it: there is nothing to say. */
  | { readonly kind: 'lost' }
  /** Its end is in the database already, by the transaction that its handler ran in. */
  | { readonly kind: 'settled'; readonly accepted: boolean }

export function completedOutcome(work: WorkIdentity, output: string): TaskOutcome {
  return { kind: 'report', report: { ...attemptOf(work), status: 'completed', output } }
}

/** A failure as the handler meant it: later at its own time, for good, or by the retry rules. */
export function failedOutcome(work: WorkIdentity, thrown: unknown, error = describeError(thrown)): TaskOutcome {
  const chosenDelay = retryDelaySeconds(thrown)
  return {
    kind: 'report',
    report: {
      ...failedReport(work, error),
      ...(chosenDelay === undefined ? {} : { retryDelaySeconds: chosenDelay }),
      ...(isNonRetryableError(thrown) ? { permanent: true } : isPlatformFailure(thrown) ? { forgiven: true } : {}),
    },
  }
}

export function failedReport(work: WorkIdentity, error: DescribedError) {
  return {
    ...attemptOf(work),
    status: 'failed',
    errorMessage: error.message,
    error: { name: error.name, ...(error.stack === undefined ? {} : { stack: error.stack }) },
  } as const
}

export function releaseOutcome(work: WorkIdentity, started: boolean): TaskOutcome {
  return { kind: 'release', task: { ...attemptOf(work), started } }
}
