import { expect, test } from 'vitest'
import { checkValue } from './check-value.ts'
import type { Json } from './json.ts'

const schema: Json = {
  type: 'object',
  properties: {
    mail: { type: 'string', format: 'email', pattern: '@' },
    count: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'null' }] },
    lines: { type: 'array', items: { $ref: '#/$defs/line' } },
    target: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
  },
  required: ['mail'],
  additionalProperties: false,
  $defs: { line: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] } },
}
const problems = (value: Json) => checkValue(schema, value).map(({ path, message }) => `${path} ${message}`)

test('a value that fits has no problem', () => {
  expect(problems({ mail: 'a@b.org', count: null, lines: [{ sku: 'x' }], target: ['y'] })).toEqual([])
})

test('what is missing is named, and what nobody knows', () => {
  expect(problems({})).toEqual(['/mail is missing'])
  expect(problems({ mail: 'a@b.org', 'e/xtra': 1 })).toEqual(['/e~1xtra is nothing that the flow knows'])
})

test('a problem stands at the innermost place, once', () => {
  expect(problems({ mail: 'a@b.org', lines: [{ sku: 'x' }, { sku: 5 }, {}] })).toEqual([
    '/lines/1/sku instance type "number" is invalid. Expected "string"',
    '/lines/2/sku is missing',
  ])
  expect(problems({ mail: 'nobody' })).toEqual(['/mail is not of the form email'])
})

test('of alternatives the one that was meant tells what is wrong, and where none was, that none fits', () => {
  expect(problems({ mail: 'a@b.org', count: 1 })).toEqual(['/count 1 is less than 3'])
  expect(problems({ mail: 'a@b.org', count: 'x' })).toEqual([
    '/count instance type "string" is invalid. Expected "integer"',
  ])
  expect(problems({ mail: 'a@b.org', target: 5 })).toEqual(['/target fits none of the forms that it may have'])
})
