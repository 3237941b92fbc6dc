import { describe, expect, test } from 'vitest'
import {
  glimpse,
  type JsonMember,
  type JsonView,
  jsonRows,
  openAtFirst,
  SHOWN_AT_FIRST,
  STRING_CUT_AT,
} from './json-rows.ts'
import { type JsonValue, parseJson } from './json-value.ts'

const closed: JsonView = { open: new Set(), whole: new Set(), shown: new Map() }
const opened = (...paths: string[]): JsonView => ({ ...closed, open: new Set(paths) })
const lines = (value: JsonValue, view: JsonView) =>
  jsonRows(value, view).map((row) => (row.type === 'rest' ? `… ${row.count}` : `${row.name}: ${row.text}`))

describe('a number', () => {
  test.each(['12345678901234567890', '1.10', '1e400', '-0', '0.30000000000000004'])(
    '%s is shown as it is written',
    (text) => {
      const [row] = jsonRows(parseJson(text), closed) as [JsonMember]
      expect([row.kind, row.text]).toEqual(['number', text])
    },
  )

  test('and the string of its digits differ', () => {
    const rows = jsonRows(parseJson('{"number": 123, "string": "123"}'), opened('')) as JsonMember[]
    expect(rows.slice(1).map(({ kind, text }) => [kind, text])).toEqual([
      ['number', '123'],
      ['string', '"123"'],
    ])
  })
})

test('what is closed shows a glimpse and its size, what is open its members', () => {
  const value = parseJson('{"user": {"name": "Ada", "tags": [1, 2]}, "ok": true, "none": null}')
  const rows = jsonRows(value, opened('')) as JsonMember[]
  expect(rows.map(({ path, size, isOpen }) => [path, size, isOpen])).toEqual([
    ['', 3, true],
    ['/user', 2, false],
    ['/ok', null, false],
    ['/none', null, false],
  ])
  expect(rows[1]!.text).toBe('{name: "Ada", tags: [1, 2]}')
  expect(lines(value, opened('', '/user', '/user/tags'))).toContain('1: 2')
})

test('names with slashes and tildes, and those that every object has, keep their own places', () => {
  const value = parseJson('{"a/b": {"c": 1}, "a~b": 2, "__proto__": {"d": 3}, "constructor": 4}')
  expect(lines(value, opened('', '/a~1b', '/__proto__')).slice(1)).toEqual([
    'a/b: {c: 1}',
    'c: 1',
    'a~b: 2',
    '__proto__: {d: 3}',
    'd: 3',
    'constructor: 4',
  ])
})

test('a long string is cut until it is asked for, and never within a character', () => {
  const long = 'x'.repeat(STRING_CUT_AT - 2) + '😀'.repeat(40)
  const [row] = jsonRows(long, closed) as [JsonMember]
  // Refuses half a pair of surrogates.
  expect(() => encodeURIComponent(row.text)).not.toThrow()
  expect(row.cutLength).toBeGreaterThan(0)
  const [whole] = jsonRows(long, { ...closed, whole: new Set(['']) }) as [JsonMember]
  expect([whole.text, whole.cutLength]).toEqual([JSON.stringify(long), 0])
})

test('a large array shows its first members and how many there are beside them', () => {
  const value = Array.from({ length: 10_000 }, (_, index) => index)
  const rows = lines(value, opened(''))
  expect(rows).toHaveLength(SHOWN_AT_FIRST + 2)
  expect(rows.at(-1)).toBe(`… ${10_000 - SHOWN_AT_FIRST}`)
  expect(lines(value, { ...opened(''), shown: new Map([['', 10_000]]) })).toHaveLength(10_001)
})

test('a glimpse of a large value is short, and its making looks at the beginning only', () => {
  const value = Array.from({ length: 1000 }, (_, index) =>
    index < 20
      ? { index }
      : Object.defineProperty({}, 'index', { enumerable: true, get: () => expect.unreachable('looked too far') }),
  ) as unknown as JsonValue
  expect(glimpse(value).length).toBeLessThanOrEqual(81)
})

describe('at first', () => {
  test('a small value is open as a whole', () => {
    expect([...openAtFirst({ a: { b: { c: [1, 2] } } })]).toEqual(['', '/a', '/a/b', '/a/b/c'])
  })

  test('of a large one only what has room', () => {
    const value = { small: { a: 1 }, large: Array.from({ length: 1000 }, () => ({ x: 1 })) }
    expect([...openAtFirst(value)]).toEqual(['', '/small'])
  })
})
