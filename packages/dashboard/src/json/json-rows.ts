import { type JsonKind, type JsonValue, kindOf, literalOf, membersOf } from './json-value.ts'

/** One line of a JSON tree. */
export type JsonRow = JsonMember | JsonRest

export interface JsonMember {
  readonly type: 'member'
  /** JSON pointer; empty for the whole. */
  readonly path: string
  readonly depth: number
  /** Name in an object or index in an array; null for the whole. */
  readonly name: string | null
  readonly isIndex: boolean
  readonly kind: JsonKind
  /** The literal, cut where it is long; of an object or array a glimpse of what is in it. */
  readonly text: string
  /** How many characters of the string are not shown. */
  readonly cutLength: number
  /** Of objects and arrays: how many members. */
  readonly size: number | null
  readonly isOpen: boolean
}

/** Stands for the members of a large object or array that are not shown yet. */
export interface JsonRest {
  readonly type: 'rest'
  readonly path: string
  readonly depth: number
  readonly count: number
}

/** What somebody has opened in a tree. */
export interface JsonView {
  readonly open: ReadonlySet<string>
  /** Strings that are shown as a whole. */
  readonly whole: ReadonlySet<string>
  /** How many members are shown, where it is more than at first. */
  readonly shown: ReadonlyMap<string, number>
}

export const SHOWN_AT_FIRST = 100
export const STRING_CUT_AT = 240
const GLIMPSE_LENGTH = 80
/** A tree begins with about this many lines at most. */
const LINES_AT_FIRST = 40

/** The lines of a JSON tree, as far as it is open. */
export function jsonRows(value: JsonValue, view: JsonView): readonly JsonRow[] {
  const rows: JsonRow[] = []
  const add = (path: string, depth: number, name: string | null, isIndex: boolean, each: JsonValue) => {
    const kind = kindOf(each)
    const members = membersOf(each)
    const hasMembers = kind === 'object' || kind === 'array'
    const isOpen = hasMembers && view.open.has(path)
    const literal = hasMembers ? glimpse(each) : literalOf(each)
    const isCut = kind === 'string' && literal.length > STRING_CUT_AT && !view.whole.has(path)
    rows.push({
      ...{ type: 'member', path, depth, name, isIndex, kind, isOpen, size: hasMembers ? members.length : null },
      text: isCut ? cut(literal, STRING_CUT_AT) : literal,
      cutLength: isCut ? literal.length - STRING_CUT_AT : 0,
    })
    if (!isOpen) return
    const shown = view.shown.get(path) ?? SHOWN_AT_FIRST
    for (const [member, inner] of members.slice(0, shown)) {
      add(`${path}/${escapePointer(member)}`, depth + 1, member, kind === 'array', inner)
    }
    const count = members.length - shown
    if (count > 0) rows.push({ type: 'rest', path, depth: depth + 1, count })
  }
  add('', 0, null, false, value)
  return rows
}

/** What is open when a value is shown first: level by level, as long as it stays a page that one sees at once. */
export function openAtFirst(value: JsonValue): ReadonlySet<string> {
  const open = new Set<string>()
  let lines = 1
  let level: readonly (readonly [string, JsonValue])[] = [['', value]]
  while (level.length > 0) {
    const next: (readonly [string, JsonValue])[] = []
    for (const [path, each] of level) {
      const members = membersOf(each)
      const added = Math.min(members.length, SHOWN_AT_FIRST)
      if (added === 0 || (path !== '' && lines + added > LINES_AT_FIRST)) continue
      open.add(path)
      lines += added
      for (const [name, inner] of members.slice(0, added)) next.push([`${path}/${escapePointer(name)}`, inner])
    }
    level = next
  }
  return open
}

/** A line of JSON that begins like the value. */
export function glimpse(value: JsonValue, length = GLIMPSE_LENGTH): string {
  const text = glimpseWithin(value, length)
  return text.length > length ? cut(text, length) : text
}

/** Stops where enough is written, so that a large value costs no more than a small one. */
function glimpseWithin(value: JsonValue, room: number): string {
  const kind = kindOf(value)
  if (kind !== 'object' && kind !== 'array') {
    // Only the beginning of a long string is written out.
    return typeof value === 'string' && value.length > room ? JSON.stringify(value.slice(0, room)) : literalOf(value)
  }
  const members = membersOf(value)
  const [before, after] = kind === 'array' ? ['[', ']'] : ['{', '}']
  let text = before
  for (const [index, [name, inner]] of members.entries()) {
    if (index > 0) text += ', '
    if (text.length > room) return text
    if (kind === 'object') text += `${name}: `
    text += glimpseWithin(inner, room - text.length)
  }
  return text + after
}

/** Does not cut through a pair of surrogates. */
function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)}…`
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
