export type JsonPrimitive = string | number | boolean | null

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** What a flow's input, a step's output and a pattern can hold. */
export type Json = JsonPrimitive | JsonObject | readonly Json[]

/**
 * What comes out on the other side when a value travels as JSON: a Date arrives as a string, nothing as null. JSON types
 * pass unchanged.
 *
 * @example
 * Jsonified<{ at: Date }> // { at: string }
 */
export type Jsonified<T> = 0 extends 1 & T
  ? T
  : [T] extends [Json]
    ? T
    : // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this return type
      T extends undefined | void
      ? null
      : JsonifiedPart<T>

// Inside an object `undefined` stays: JSON drops such a key, and reading it gives undefined again.
type JsonifiedPart<T> = T extends JsonPrimitive | undefined
  ? T
  : T extends { toJSON(...args: never[]): infer TResult }
    ? Jsonified<TResult>
    : T extends readonly unknown[]
      ? { [K in keyof T]: Jsonified<T[K]> }
      : T extends object
        ? { [K in keyof T]: JsonifiedPart<T[K]> }
        : T
