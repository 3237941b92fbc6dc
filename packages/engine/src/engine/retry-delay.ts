/** The setting `max_retry_delay` of the SQL core: no retry is later. */
const MAX_RETRY_DELAY_SECONDS = 86_400
const MAX_INTEGER = 2_147_483_647

/** What a step says of its retries, with the flow's options and the defaults filled in. */
export interface RetryOptions {
  readonly baseDelaySeconds: number
  readonly maxDelaySeconds: number | undefined
}

/**
 * Seconds before the next attempt: `base × 2^attempts`, saturating, without jitter; the same as `pgflow.calculate_retry_delay`
 * and its caller. What the handler asked for (`RetryLater`) goes before the step's own delay.
 *
 * @param attempts how many attempts counted so far, the failed one with them
 */
export function retryDelaySecondsAfter(attempts: number, options: RetryOptions, asked: number | undefined): number {
  const own = Math.min(
    Math.floor(options.baseDelaySeconds * 2 ** Math.min(Math.max(attempts, 0), 62)),
    options.maxDelaySeconds ?? MAX_INTEGER,
    MAX_INTEGER,
  )
  return Math.min(asked ?? own, MAX_RETRY_DELAY_SECONDS)
}
