import type { Json } from '@starflow/dsl'

/**
 * What a test has in the place of a step's handler. It gets what the handler would get, and the handler itself, so that it may call
 * it, watch it, or do without it. Its result is the step's output, or that of one element of a map.
 */
export type StandIn<TInput = unknown> = (
  input: TInput,
  context: { readonly stepTask: { readonly attempt: number; readonly task_index: number } },
  handler: () => unknown,
) => unknown

/** The wait is left alone until its timeout. */
export const TIMES_OUT: unique symbol = Symbol('times out')

/** With what a wait is resumed, or that it is not. */
export type WaitAnswer = Json | typeof TIMES_OUT

/**
 * The first attempts at a step fail, of each element of a map; those after them are the handler's.
 *
 * @example
 * await runFlow(orders, order, { handlers: { charge: failTimes(2) } })
 */
export function failTimes(times: number, error: unknown = new Error('failed on purpose')): StandIn {
  return (_input, { stepTask }, handler) => {
    if (stepTask.attempt <= times) throw error
    return handler()
  }
}
