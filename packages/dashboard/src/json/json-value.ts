import { LosslessNumber, parse, stringify } from 'lossless-json'

/**
 * JSON as it was written: numbers keep their digits, so that an id beyond 2^53 and 1.10 are shown as they are. Values that were
 * parsed elsewhere have plain numbers.
 */
export type JsonValue = null | boolean | string | number | LosslessNumber | readonly JsonValue[] | JsonFields
export interface JsonFields {
  readonly [name: string]: JsonValue
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** @throws SyntaxError for text that is not JSON */
export function parseJson(text: string): JsonValue {
  return parse(text) as JsonValue
}

export function kindOf(value: JsonValue): JsonKind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (value instanceof LosslessNumber) return 'number'
  return typeof value as 'object' | 'string' | 'number' | 'boolean'
}

/** The members of an object or an array, by name or index; none for everything else. */
export function membersOf(value: JsonValue): readonly (readonly [string, JsonValue])[] {
  return typeof value === 'object' && value !== null && !(value instanceof LosslessNumber) ? Object.entries(value) : []
}

/** How a value without members is written. */
export function literalOf(value: JsonValue): string {
  return value instanceof LosslessNumber ? value.value : JSON.stringify(value)
}

/** JSON of a value, with its numbers as they were written. */
export function formatJson(value: JsonValue): string {
  return stringify(value, null, 2) ?? ''
}
