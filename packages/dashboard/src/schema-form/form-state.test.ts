import { expect, test } from 'vitest'
import { asFields, asJson, formOf, readForm } from './form-state.ts'
import type { Json } from './json.ts'

const schema: Json = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 2 }, count: { type: 'integer', default: 3 } },
  required: ['name'],
}

test('a value goes from fields to JSON and back', () => {
  const form = formOf(schema, { name: 'Ada', count: 12 })
  const json = asJson(form)
  expect(JSON.parse(json.text)).toEqual({ name: 'Ada', count: 12 })
  expect(asFields(json)).toEqual({ ...form, text: json.text })
})

test('fields do not take what they would lose', () => {
  const json = asJson(formOf(schema))
  expect(asFields({ ...json, text: '{"name": "Ada", "extra": 1}' })).toBeUndefined()
  expect(asFields({ ...json, text: '{"name": ' })).toBeUndefined()
})

test('what the schema refuses is a problem in either way of writing', () => {
  const form = formOf(schema, { name: 'A' })
  const problems = [{ path: '/name', message: 'is too short: at least 2 characters' }]
  expect(readForm(form)).toEqual({ value: undefined, problems })
  expect(readForm(asJson(form))).toEqual({ value: undefined, problems })
})

test('what cannot be read and what the schema refuses are told together, and each place once', () => {
  const lines = { type: 'array', minItems: 1, items: { type: 'string' } }
  const form = formOf({
    type: 'object',
    properties: { name: { type: 'string', minLength: 2 }, count: { type: 'integer' }, lines },
    required: ['name', 'count', 'lines'],
  })
  expect(readForm(form).problems.map(({ path, message }) => `${path} ${message}`)).toEqual([
    '/count is missing',
    '/name is empty',
    '/lines needs at least 1',
  ])
})

test('without a schema there is JSON alone, and any of it will do', () => {
  const form = formOf(null)
  expect([form.mode, form.text]).toEqual(['json', '{}'])
  expect(readForm({ ...form, text: '[1, "1"]' })).toEqual({ value: [1, '1'], problems: [] })
  expect(readForm({ ...form, text: '{' }).problems).toHaveLength(1)
})
