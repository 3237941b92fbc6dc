import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Field, fieldOf } from './field.ts'
import type { Json } from './json.ts'

/** A field in one line. */
function sketch(field: Field): string {
  const marks = `${field.name}${field.isRequired ? '' : '?'}${field.isNullable ? '|null' : ''}`
  const inner =
    field.kind === 'object'
      ? `{${field.fields.map(sketch).join(' ')}}`
      : field.kind === 'list'
        ? `[${sketch(field.item)}]`
        : field.kind === 'choice'
          ? `(${field.choices.map((each) => JSON.stringify(each)).join(',')})`
          : field.kind === 'text'
            ? `(${field.format ?? ''}${field.isLong ? ' long' : ''})`
            : field.kind === 'number'
              ? field.isInteger
                ? '(integer)'
                : ''
              : field.kind === 'fixed'
                ? `=${JSON.stringify(field.value)}`
                : ''
  return `${marks}:${field.kind}${inner}`
}
const ofZod = (schema: z.ZodType) => sketch(fieldOf(z.toJSONSchema(schema, { io: 'input' }) as Json))
const property = (schema: Json) =>
  sketch(fieldOf({ type: 'object', properties: { x: schema } })).slice(':object{'.length, -1)

test('a schema of zod is a form', () => {
  const schema = z.object({
    id: z.uuid(),
    mail: z.email().nullable(),
    text: z.string().max(5000),
    amount: z.number().positive(),
    count: z.int().optional(),
    isUrgent: z.boolean().default(false),
    kind: z.enum(['help', 'talk']),
    version: z.literal(3),
    lines: z.array(z.object({ sku: z.string(), at: z.iso.datetime().optional() })),
  })
  expect(ofZod(schema)).toBe(
    [
      ':object{id:text(uuid) mail|null:text(email) text:text( long) amount:number',
      'kind:choice("help","talk") version:fixed=3 lines:list[:object{sku:text() at?:text(date-time)}]',
      'count?:number(integer) isUrgent?:boolean}',
    ].join(' '),
  )
})

describe('null is allowed', () => {
  test.each<[string, Json, string]>([
    ['as one of two types', { type: ['string', 'null'] }, 'x?|null:text()'],
    ['as an alternative', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'x?|null:number(integer)'],
    ['as one of the values', { type: ['string', 'null'], enum: ['a', 'b', null] }, 'x?|null:choice("a","b")'],
    ['beside two others', { oneOf: [{ const: 1 }, { const: 2 }, { type: 'null' }] }, 'x?|null:choice(1,2)'],
  ])('%s', (_, schema, expected) => {
    expect(property(schema)).toBe(expected)
  })
})

describe('what no field can express takes JSON:', () => {
  test.each<[string, Json]>([
    ['anything', {}],
    ['true', true],
    ['several types', { type: ['string', 'number'] }],
    ['alternatives of objects', { oneOf: [{ type: 'object' }, { type: 'string' }] }],
    ['a record', { type: 'object', additionalProperties: { type: 'number' } }],
    [
      'known properties beside others',
      { type: 'object', properties: { a: {} }, additionalProperties: { type: 'number' } },
    ],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
    ['a list of anything', { type: 'array', items: {} }],
    ['conditions', { type: 'string', if: { minLength: 3 } }],
    ['an empty enum', { enum: [] }],
    ['a reference to elsewhere', { $ref: 'https://example.org/schema.json' }],
    ['a reference to nothing', { $ref: '#/$defs/none' }],
  ])('%s', (_, schema) => {
    expect(property(schema)).toBe('x?:json')
  })
})

test('references within the schema are followed, and those that lead back to themselves take JSON', () => {
  const tree = z.object({
    name: z.string(),
    get children() {
      return z.array(tree)
    },
  })
  expect(ofZod(z.object({ tree }))).toBe(':object{tree:json}')
  const shared: Json = {
    type: 'object',
    properties: { from: { $ref: '#/$defs/place' }, to: { $ref: '#/$defs/place', description: 'Where to.' } },
    $defs: { place: { type: 'object', properties: { city: { type: 'string' } }, description: 'A place.' } },
  }
  const field = fieldOf(shared)
  expect(sketch(field)).toBe(':object{from?:object{city?:text()} to?:object{city?:text()}}')
  expect(field.kind === 'object' && field.fields.map(({ description }) => description)).toEqual([
    'A place.',
    'Where to.',
  ])
})

test('limits are said in words, but not the bounds of every integer', () => {
  const limits = (schema: z.ZodType) => fieldOf(z.toJSONSchema(schema) as Json).limits
  expect(limits(z.int().min(1).max(2000))).toEqual(['1 or more', '2,000 or less'])
  expect(limits(z.int())).toEqual([])
  expect(limits(z.string().min(1).max(80))).toEqual(['not empty', 'at most 80 characters'])
  expect(limits(z.string().regex(/^[a-z]+$/))).toEqual(['matches ^[a-z]+$'])
})

test('a schema that is no object has a form too', () => {
  expect(ofZod(z.string())).toBe(':text()')
  expect(sketch(fieldOf(null))).toBe(':json')
})
