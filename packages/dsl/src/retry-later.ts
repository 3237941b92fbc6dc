import { isBranded } from './thrown-brand.ts'

/** The longest delay that a handler may choose, in seconds: one day. */
export const MAX_RETRY_DELAY_SECONDS = 86_400

const brand = Symbol.for('starflow.retryLater')

/**
 * Thrown by a handler that knows when the next attempt makes sense. It is a failed attempt like any other; only its delay
 * is the handler's, and only while attempts remain.
 *
 * A delay that is not a number from 0 to one day (a missing Retry-After header read as NaN, say) is not used: the attempt
 * fails in the normal way, with the step's own delay, and the message says so.
 *
 * @example
 * throw new RetryLater({ delaySeconds: Number(response.headers.get('retry-after') ?? 30), message: 'rate limited' })
 */
export class RetryLater extends Error {
  readonly delaySeconds: number
  readonly [brand] = true

  constructor(options: { readonly delaySeconds: number; readonly message?: string; readonly cause?: unknown }) {
    const { delaySeconds, message = 'The handler asked for a later attempt', cause } = options
    const isUsable = isRetryDelay(delaySeconds)
    super(
      isUsable
        ? message
        : `${message} (delaySeconds ${String(delaySeconds)} is not a number from 0 to ${MAX_RETRY_DELAY_SECONDS}: the step's own delay applies)`,
      cause === undefined ? undefined : { cause },
    )
    this.name = 'RetryLater'
    this.delaySeconds = delaySeconds
  }
}

/** True for a RetryLater of any copy of this package. Never throws, whatever was thrown. */
export function isRetryLater(error: unknown): error is RetryLater {
  return isBranded(error, brand)
}

/** The delay that a thrown error asks for, in whole seconds; undefined where the step's own delay applies. */
export function retryDelaySeconds(error: unknown): number | undefined {
  try {
    return isRetryLater(error) && isRetryDelay(error.delaySeconds) ? Math.ceil(error.delaySeconds) : undefined
  } catch {
    // Its properties may be getters, and those throw.
    return undefined
  }
}

function isRetryDelay(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_RETRY_DELAY_SECONDS
}
