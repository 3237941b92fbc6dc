import { isBranded } from './thrown-brand.ts'

const brand = Symbol.for('starflow.nonRetryableError')

/**
 * Thrown by a handler when no further attempt can help: the task fails at once, whatever attempts remain.
 *
 * @example
 * throw new NonRetryableError(`There is no user ${id}`)
 */
export class NonRetryableError extends Error {
  readonly [brand] = true

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'NonRetryableError'
  }
}

/** True for a NonRetryableError of any copy of this package. Never throws, whatever was thrown. */
export function isNonRetryableError(error: unknown): error is NonRetryableError {
  return isBranded(error, brand)
}
