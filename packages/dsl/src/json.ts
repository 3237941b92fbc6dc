import type { FlowTypeError } from './flow-type-error.ts'

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

/**
 * What a handler may return: T, and for what JSON would lose a sentence that nothing can be assigned to, in its place.
 *
 * @example
 * Storable<{ at: Date; seen: Set<string> }> // { at: Date; seen: FlowTypeError<'…'> }
 */
export type Storable<T> = 0 extends 1 & T
  ? T
  : [T] extends [Json | undefined]
    ? T
    : unknown extends T
      ? T
      : StorablePart<T>

type StorablePart<T> = T extends JsonPrimitive | undefined | { toJSON(...args: never[]): unknown }
  ? T
  : T extends bigint
    ? FlowTypeError<'JSON has no bigint: return String(value)'>
    : T extends symbol
      ? FlowTypeError<'JSON has no symbols'>
      : T extends (...args: never[]) => unknown
        ? FlowTypeError<'JSON has no functions: an object with methods loses them, so return its data'>
        : T extends readonly (infer TElement)[]
          ? readonly Storable<TElement>[]
          : T extends Opaque
            ? OpaqueSentence<T>
            : { [K in keyof T]: Storable<T[K]> }

/** Objects whose content JSON does not see, by the members that tell them from others. */
type Opaque = AnyMap | ReadonlySet<unknown> | BodyLike | { readonly byteLength: number } | Iterator<unknown>

// biome-ignore lint/suspicious/noExplicitAny: a map takes its keys and gives them: only any fits every map
type AnyMap = ReadonlyMap<any, unknown>

interface BodyLike {
  readonly bodyUsed: boolean
  json(): unknown
}

type OpaqueSentence<T> = T extends BodyLike
  ? FlowTypeError<'JSON would lose a Response or Request: return what its json() or text() resolves to'>
  : T extends AnyMap
    ? FlowTypeError<'JSON would lose a Map: return Object.fromEntries(map)'>
    : T extends ReadonlySet<unknown>
      ? FlowTypeError<'JSON would lose a Set: return [...set]'>
      : T extends { readonly byteLength: number }
        ? FlowTypeError<'JSON would lose these bytes: return Array.from(bytes), or text'>
        : FlowTypeError<'JSON would lose an iterator: return [...iterator]'>

/**
 * Asks a handler for what can be stored: the sentence of {@link Storable} shows where its output cannot. Of an async handler that
 * returns undefined or only throws, TypeScript infers the promise too.
 */
export type Returning<TOutput> = [Awaited<TOutput>] extends [Storable<Awaited<TOutput>>]
  ? unknown
  : (...args: never[]) => Storable<Awaited<TOutput>>
