import { type Json, NonRetryableError, roundedNumber, roundedNumberProblem } from '@starflow/dsl'

/**
 * What a handler is given, as the database has it.
 *
 * @throws NonRetryableError for a number that JavaScript would round: it is the same the next time, and another id than was meant
 */
export function exactInput<T extends Json | null>(input: T): T {
  const path = roundedNumber(input)
  if (path === undefined) return input
  throw new NonRetryableError(`The input cannot be handed to JavaScript: ${roundedNumberProblem(path)}`)
}
