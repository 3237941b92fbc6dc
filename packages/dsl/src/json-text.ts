import { StarflowError } from '@starflow/errors'
import { memberPath } from './exact-json.ts'

/** A value that JSON or Postgres cannot hold (SF304). `path` says where it is, as in `$.items[3].name`. */
export class InvalidOutputError extends StarflowError {
  readonly path: string

  constructor(path: string, problem: string) {
    super({
      code: 'SF304',
      message: `The output cannot be stored: ${path} ${problem}.`,
      detail: 'Outputs travel as JSON and are stored as jsonb.',
      hint: 'Return JSON only: null, booleans, finite numbers, well-formed strings, arrays and plain objects. Of a Response, return what its json() or text() resolves to.',
      fields: { path, problem },
    })
    this.path = path
  }
}

/**
 * The JSON text of a handler's output. Nothing (`undefined`) becomes `null`; `0`, `false` and `''` stay themselves. An
 * object's undefined values are left out, and an array's become `null`, as JSON does.
 *
 * @throws InvalidOutputError for what JSON would silently lose or Postgres refuses: functions, symbols, BigInt, NaN and
 * infinities, cycles, objects with the methods or getters of a class and no toJSON (Map, Response, Uint8Array, iterators),
 * NUL characters and lone surrogates. Its message names the path.
 */
export function toJsonText(value: unknown): string {
  if (value === undefined) return 'null'
  const text = stringify(value)
  if (text === undefined || !isFaithful(value)) checkValue(value, '$', new Set())
  // JSON.stringify writes NUL and lone surrogates as escapes, so one search of the text clears nearly every output.
  if (text !== undefined && SUSPECT_ESCAPE.test(text)) checkStrings(JSON.parse(text), '$')
  return text ?? 'null'
}

/** Undefined for what has no JSON text. Cycles, BigInt and endless depth end here; what is wrong is found afterwards. */
function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidOutputError('$', 'is nested too deeply')
    checkValue(value, '$', new Set())
    throw error
  }
}

/**
 * Whether JSON.stringify lost nothing of this value, which it could write. It runs for every output, so it builds no
 * paths: `checkValue` does, once something is wrong. It adds about half of the time that JSON.stringify takes.
 */
function isFaithful(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isFaithful)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return !isInvalidDate(value) && isFaithful(toJSON.call(value, ''))
  if (isOpaque(value)) return false
  for (const key in value) if (!isFaithful((value as Record<string, unknown>)[key])) return false
  return true
}

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

function checkValue(value: unknown, path: string, ancestors: Set<object>): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return
    case 'number':
      if (!Number.isFinite(value)) throw new InvalidOutputError(path, `is ${value}, which JSON has no number for`)
      return
    case 'object':
      if (value !== null) checkObject(value, path, ancestors)
      return
    case 'bigint':
      throw new InvalidOutputError(path, 'is a BigInt; make it a string')
    default:
      throw new InvalidOutputError(path, `is a ${typeof value}`)
  }
}

function checkObject(value: object, path: string, ancestors: Set<object>): void {
  if (ancestors.has(value)) throw new InvalidOutputError(path, 'refers back to an object that contains it')
  ancestors.add(value)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') checkValue(callToJson(value, path), path, ancestors)
  else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) checkValue(value[index], `${path}[${index}]`, ancestors)
  } else {
    if (isOpaque(value))
      throw new InvalidOutputError(path, `is of class ${className(value)}, whose members JSON would lose`)
    for (const key of Object.keys(value)) {
      checkValue((value as Record<string, unknown>)[key], memberPath(path, key), ancestors)
    }
  }
  ancestors.delete(value)
}

function callToJson(value: object, path: string): unknown {
  if (isInvalidDate(value)) throw new InvalidOutputError(path, 'is an invalid Date')
  return (value as { toJSON(key: string): unknown }).toJSON('')
}

function isInvalidDate(value: object): boolean {
  return value instanceof Date && Number.isNaN(value.getTime())
}

/**
 * Whether an object has members that JSON.stringify does not see: the methods and getters of its class, and with them whatever
 * these know. Objects of a class that adds nothing to its fields are as good as plain ones; JSON unboxes `Object(1)`.
 */
function isOpaque(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && hasMembers(prototype) && !BOXES.some((type) => value instanceof type)
}

const BOXES = [Number, String, Boolean]

/** The last prototype of a chain is Object's, of this realm or another; an object without a prototype inherits nothing. */
function hasMembers(prototype: object | null): boolean {
  if (prototype === null) return false
  const next = Object.getPrototypeOf(prototype)
  if (next === null) return false
  return Reflect.ownKeys(prototype).some((key) => key !== 'constructor') || hasMembers(next)
}

/** As its class is called; an iterator has a tag only. */
function className(value: object): string {
  const { name } = value.constructor ?? {}
  return name && name !== 'Object' ? name : Object.prototype.toString.call(value).slice(8, -1)
}

function checkStrings(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw new InvalidOutputError(path, 'has a NUL character, which Postgres cannot store')
    if (LONE_SURROGATE.test(value)) throw new InvalidOutputError(path, 'has half of a surrogate pair')
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkStrings(element, `${path}[${index}]`)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      if (key.includes('\0') || LONE_SURROGATE.test(key)) {
        throw new InvalidOutputError(path, 'has a key with a NUL character or half of a surrogate pair')
      }
      checkStrings(member, memberPath(path, key))
    }
  }
}
