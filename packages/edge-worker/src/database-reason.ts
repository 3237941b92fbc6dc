import { describeError } from '@starflow/errors'

/** Why a database call failed, fit for the log: a data error's message may repeat the data, so it is named by its code. */
export function databaseReason(error: unknown): string {
  return isDataError(error)
    ? `SQLSTATE ${(error as { code: string }).code}`
    : describeError(error).message.slice(0, 300)
}

/** An error about the values that were sent (data exceptions, program limits, too much memory), not the connection. */
export function isDataError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^(22|54|SF303|SF304|XX000)/.test(code)
}

/** The subscription itself is refused: its flow, step, queue or a function is gone. No later call will be answered otherwise. */
export function isSubscriptionGone(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'SF302' || code === '42P01' || code === '42883' || code === '3F000'
}

/** The call has waited for a lock for as long as it may: another transaction holds a run. Nothing has changed. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '55P03'
}
