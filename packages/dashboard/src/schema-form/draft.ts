import { parse } from 'lossless-json'
import type { Field } from './field.ts'
import type { Json, JsonObject } from './json.ts'

/** What somebody has put into a field so far. It may be wrong, or half written. */
export interface Draft {
  /** absent: the property is left out. */
  readonly state: 'absent' | 'null' | 'set'
  /** Of text, number and json. */
  readonly text: string
  readonly isTrue: boolean
  /** Which of the choices. */
  readonly choice: number
  /** Of the properties of an object, or the items of a list. */
  readonly parts: readonly Draft[]
}

/** Something in a draft that has to be mended; `path` is a JSON pointer to where. */
export interface Problem {
  readonly path: string
  readonly message: string
}

export type Reading = { readonly value: Json | undefined; readonly problems: readonly Problem[] }

const NOTHING: Draft = { state: 'absent', text: '', isTrue: false, choice: 0, parts: [] }

/** A form as it is shown first: with its defaults, and what is optional left out. */
export function emptyDraft(field: Field): Draft {
  const initial = field.initial === undefined ? undefined : draftOf(field, field.initial)
  if (initial !== undefined) return initial
  return field.isRequired ? presentDraft(field) : { ...NOTHING, text: '' }
}

/** A field that is there, with nothing in it yet. */
export function presentDraft(field: Field): Draft {
  const parts = field.kind === 'object' ? field.fields.map(emptyDraft) : []
  const choice = field.kind === 'choice' ? -1 : 0
  return { ...NOTHING, state: 'set', parts, choice, text: field.kind === 'json' && field.isNullable ? 'null' : '' }
}

/** The draft that reads as a value; undefined where the form cannot hold the value as it is. */
export function draftOf(field: Field, value: Json): Draft | undefined {
  if (value === null && field.isNullable && field.kind !== 'json') return { ...NOTHING, state: 'null' }
  const set: Draft = { ...NOTHING, state: 'set' }
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? { ...set, text: value } : undefined
    case 'number':
      return typeof value === 'number' ? { ...set, text: JSON.stringify(value) } : undefined
    case 'boolean':
      return typeof value === 'boolean' ? { ...set, isTrue: value } : undefined
    case 'choice': {
      const choice = field.choices.findIndex((each) => isSame(each, value))
      return choice === -1 ? undefined : { ...set, choice }
    }
    case 'fixed':
      return isSame(field.value, value) ? set : undefined
    case 'json':
      return { ...set, text: JSON.stringify(value, null, 2) }
    case 'list': {
      if (!Array.isArray(value)) return undefined
      const parts = value.map((item: Json) => draftOf(field.item, item))
      return parts.every((part) => part !== undefined) ? { ...set, parts } : undefined
    }
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
      const given = value as JsonObject
      const known = new Set(field.fields.map(({ name }) => name))
      if (Object.keys(given).some((name) => !known.has(name))) return undefined
      const parts = field.fields.map((part) => {
        const own = Object.hasOwn(given, part.name) ? given[part.name] : undefined
        return own === undefined ? NOTHING : draftOf(part, own)
      })
      return parts.every((part) => part !== undefined) ? { ...set, parts } : undefined
    }
  }
}

/** The value that a draft stands for, and what is wrong with it. Undefined: it is left out, or cannot be read. */
export function readDraft(field: Field, draft: Draft, path = ''): Reading {
  const problem = (message: string): Reading => ({ value: undefined, problems: [{ path, message }] })
  const fine = (value: Json | undefined): Reading => ({ value, problems: [] })
  if (draft.state === 'absent') return field.isRequired ? problem('is missing') : fine(undefined)
  if (draft.state === 'null') return fine(null)
  switch (field.kind) {
    case 'text':
      return fine(draft.text)
    case 'number':
      return readNumber(field.isInteger, draft.text.trim(), fine, problem)
    case 'boolean':
      return fine(draft.isTrue)
    case 'choice':
      return draft.choice >= 0 ? fine(field.choices[draft.choice]) : problem('choose one')
    case 'fixed':
      return fine(field.value)
    case 'json': {
      const { value, error } = readJson(draft.text)
      return error === null ? fine(value) : problem(error)
    }
    case 'list': {
      const items = draft.parts.map((part, index) => readDraft(field.item, part, `${path}/${index}`))
      return { value: items.map(({ value }) => value ?? null), problems: items.flatMap(({ problems }) => problems) }
    }
    case 'object': {
      const parts = field.fields.map((part, index) => ({
        name: part.name,
        ...readDraft(part, draft.parts[index] ?? NOTHING, `${path}/${escapePointer(part.name)}`),
      }))
      const members = parts.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
      return { value: Object.fromEntries(members), problems: parts.flatMap(({ problems }) => problems) }
    }
  }
}

/** JSON that somebody typed, or why it is none, in words. */
export function readJson(text: string): { readonly value: Json | undefined; readonly error: string | null } {
  if (text.trim() === '') return { value: undefined, error: 'is empty; null is written null' }
  let rounded: string | undefined
  try {
    parse(text, null, (digits) => {
      if (isRounded(digits)) rounded ??= digits
      return digits
    })
    if (rounded !== undefined) return { value: undefined, error: `${rounded} ${WOULD_BE_ROUNDED}` }
    return { value: JSON.parse(text) as Json, error: null }
  } catch (error) {
    return { value: undefined, error: `is not JSON: ${placeOf(text, error instanceof Error ? error.message : '')}` }
  }
}

const WOULD_BE_ROUNDED = 'has more digits than a JavaScript number holds; send it as a string'

function readNumber(
  isInteger: boolean,
  text: string,
  fine: (value: Json) => Reading,
  problem: (message: string) => Reading,
): Reading {
  if (text === '') return problem('is missing')
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return problem('is not a number')
  const value = Number(text)
  if (isInteger && !Number.isInteger(value)) return problem('must be a whole number')
  return isRounded(text) ? problem(WOULD_BE_ROUNDED) : fine(value)
}

/** Digits after the point may go, as they do everywhere; whole numbers are ids and amounts. */
function isRounded(digits: string): boolean {
  const value = Number(digits)
  return /^-?\d+$/.test(digits) ? value !== 0 && String(value) !== digits : !Number.isFinite(value)
}

/** With the line and the column instead of a position in the text. */
function placeOf(text: string, message: string): string {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position === undefined) return message
  const before = text.slice(0, Number(position)).split('\n')
  const place =
    before.length === 1
      ? `column ${before[0]!.length + 1}`
      : `line ${before.length}, column ${before.at(-1)!.length + 1}`
  return message.replace(/ ?(at|in) position \d+/, ` at ${place}`).replace(/^\w/, (letter) => letter.toLowerCase())
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Both come from JSON, so that their text tells; the order of names does not count in a choice. */
function isSame(a: Json, b: Json): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, each]) => [name, sorted(each as Json)]))
}
