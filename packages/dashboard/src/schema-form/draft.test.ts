import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Draft, draftOf, emptyDraft, presentDraft, readDraft, readJson } from './draft.ts'
import { fieldOf } from './field.ts'
import type { Json, JsonObject } from './json.ts'

/** A schema and a value that fits it. */
interface Case {
  readonly schema: JsonObject
  readonly value: Json
}

const scalars: fc.Arbitrary<Case> = fc.oneof(
  fc.string({ unit: 'binary' }).map((value) => ({ schema: { type: 'string' }, value })),
  fc.maxSafeInteger().map((value) => ({ schema: { type: 'integer' }, value })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 })
    .map((value) => ({ schema: { type: 'number' }, value: value + 0 })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
  fc
    .constantFrom<Json>('a', 2, null, { k: [1] })
    .map((value) => ({ schema: { enum: ['a', 2, null, { k: [1] }] }, value })),
  fc.constantFrom<Json>('fixed', 0, false).map((value) => ({ schema: { const: value }, value })),
  fc
    .jsonValue({ noUnicodeString: false })
    .map((value) => ({ schema: {}, value: JSON.parse(JSON.stringify(value)) as Json })),
)
const cases = fc.letrec<{ case: Case }>((tie) => ({
  case: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.boolean().chain((isNull) =>
      tie('case').map(({ schema, value }) => ({
        schema: { anyOf: [schema, { type: 'null' }] },
        value: isNull ? null : value,
      })),
    ),
    tie('case').map(({ schema, value }) => ({ schema: { type: 'array', items: schema }, value: [value, value] })),
    fc
      .dictionary(fc.string({ minLength: 1 }), fc.tuple(tie('case'), fc.boolean(), fc.boolean()), {
        minKeys: 1,
        maxKeys: 4,
      })
      .map((properties) => ({
        schema: {
          type: 'object',
          properties: members(properties, ([{ schema }]) => schema),
          required: Object.keys(properties).filter((name) => properties[name]![1]),
          additionalProperties: false,
        },
        value: members(properties, ([{ value }, isRequired, isGiven]) => (isRequired || isGiven ? value : undefined)),
      })),
  ),
})).case

function members<T>(of: Record<string, T>, make: (each: T) => Json | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(of).flatMap(([name, each]) => {
      const made = make(each)
      return made === undefined ? [] : [[name, made]]
    }),
  )
}

test('what is put into the form of a schema comes out of it as it was', () => {
  fc.assert(
    fc.property(cases, ({ schema, value }) => {
      const field = fieldOf(schema)
      const draft = draftOf(field, value)
      expect(draft).toBeDefined()
      expect(readDraft(field, draft as Draft)).toEqual({ value, problems: [] })
    }),
    { numRuns: 300 },
  )
})

const order = fieldOf({
  type: 'object',
  properties: {
    name: { type: 'string' },
    note: { type: 'string' },
    count: { type: 'integer', default: 1 },
    isGift: { type: 'boolean' },
    kind: { enum: ['a', 'b'] },
    options: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
    lines: { type: 'array', items: { type: 'integer' } },
  },
  required: ['name', 'isGift', 'kind', 'lines'],
})
const part = (draft: Draft, name: string, change: Partial<Draft>): Draft => {
  const index = order.kind === 'object' ? order.fields.findIndex((field) => field.name === name) : -1
  return {
    ...draft,
    parts: draft.parts.map((each, at) => (at === index ? { ...each, state: 'set', ...change } : each)),
  }
}

describe('an empty form', () => {
  const empty = emptyDraft(order)

  test('has the defaults, and leaves out what is optional', () => {
    expect(readDraft(order, empty).value).toEqual({ name: '', count: 1, isGift: false, lines: [] })
  })

  test('asks for a choice', () => {
    expect(readDraft(order, empty).problems).toEqual([{ path: '/kind', message: 'choose one' }])
  })

  test('takes what is optional once it is there', () => {
    const field = order.kind === 'object' ? order.fields.find(({ name }) => name === 'options')! : order
    const draft = part(part(empty, 'kind', { choice: 1 }), 'options', presentDraft(field))
    expect(readDraft(order, draft)).toEqual({
      value: { name: '', count: 1, isGift: false, kind: 'b', lines: [], options: { colour: '' } },
      problems: [],
    })
  })
})

describe('a number', () => {
  const count = (text: string) => {
    const { problems, value } = readDraft(
      order,
      part(part(emptyDraft(order), 'kind', { choice: 0 }), 'count', { text }),
    )
    return problems[0]?.message ?? (value as JsonObject).count
  }

  test.each([
    ['7', 7],
    [' -3 ', -3],
    ['1e3', 1000],
    ['', 'is missing'],
    ['1.5', 'must be a whole number'],
    ['07', 'is not a number'],
    ['seven', 'is not a number'],
    ['12345678901234567890', 'has more digits than a JavaScript number holds; send it as a string'],
  ])('written %j is %j', (text, expected) => {
    expect(count(text)).toBe(expected)
  })
})

describe('JSON that is typed', () => {
  test('keeps numbers and strings apart', () => {
    expect(readJson('{"a": 123, "b": "123"}').value).toEqual({ a: 123, b: '123' })
  })

  test('is refused where a whole number would be rounded, and not for digits behind the point', () => {
    expect(readJson('{"id": 12345678901234567890}').error).toContain('12345678901234567890 has more digits')
    expect(readJson('0.1234567890123456789').error).toBeNull()
    expect(readJson('9007199254740992').error).toBeNull()
    expect(readJson('9007199254740993').error).not.toBeNull()
  })

  test('that is none is told where', () => {
    expect(readJson('').error).toBe('is empty; null is written null')
    expect(readJson('{\n  "a": nope\n}').error).toMatch(/is not JSON: .* line 2, column 8/)
  })
})

test('a value with properties that the form does not know stays JSON', () => {
  expect(draftOf(order, { name: '', isGift: true, kind: 'a', lines: [], extra: 1 })).toBeUndefined()
  expect(draftOf(order, 5)).toBeUndefined()
})
