import { storableText } from './storable-text.ts'

/** A task as one claim of it: the attempt number is the fencing token that every report carries back. */
export interface TaskIdentity {
  readonly runId: string
  readonly stepSlug: string
  readonly taskIndex: number
  readonly attempt: number
}

/** What a worker says of one attempt. `output` is JSON text: it is converted by the database, one report by one. */
export type TaskReport = TaskIdentity &
  (
    | { readonly status: 'completed'; readonly output: string }
    | {
        readonly status: 'failed'
        readonly errorMessage: string
        readonly error?: { readonly name?: string; readonly stack?: string }
        /** Seconds until the next attempt, instead of the step's own delay. */
        readonly retryDelaySeconds?: number
        /** No further attempt, whatever is left of the budget. */
        readonly permanent?: boolean
        /** The platform failed, not the handler: the attempt does not count, within a bound. Default false. */
        readonly forgiven?: boolean
      }
  )

/** A report that was not accepted; it changed nothing. */
export interface RefusedReport {
  readonly runId: string
  readonly stepSlug: string
  readonly taskIndex: number
  readonly reason: string
}

export interface SettledReport {
  readonly runId: string
  readonly stepSlug: string
  readonly taskIndex: number
  readonly accepted: boolean
  readonly reason: string | null
}

/** Reports as `settle_tasks` and `settle_and_claim` take them. */
export function reportsJson(reports: readonly TaskReport[]): string {
  return JSON.stringify(
    reports.map((report) => ({
      run_id: report.runId,
      step_slug: report.stepSlug,
      task_index: report.taskIndex,
      attempt: report.attempt,
      status: report.status,
      ...(report.status === 'completed'
        ? { output: storableText(report.output) }
        : {
            error_message: storableText(report.errorMessage),
            error: { name: storableText(report.error?.name), stack: storableText(report.error?.stack) },
            retry_delay: report.retryDelaySeconds,
            permanent: report.permanent,
            forgiven: report.forgiven,
          }),
    })),
  )
}
