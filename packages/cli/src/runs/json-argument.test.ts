import { parseExactJson } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { createOutput } from '../output/output.ts'
import { readJsonArgument } from './json-argument.ts'

test('an argument with a number that would be rounded is refused with its path; the same as text is taken', () => {
  expect(() => readJsonArgument('--input', '{"user": {"id": 1970670598291982290}}')).toThrow(
    expect.objectContaining({ code: 'SF610', detail: expect.stringContaining('$.user.id has more digits') }),
  )
  expect(readJsonArgument('--input', '{"id": "1970670598291982290"}')).toEqual({ id: '1970670598291982290' })
})

test('what is no JSON is refused for that', () => {
  expect(() => readJsonArgument('--input', '{id: 12345678901234567890}')).toThrow('--input is not JSON.')
})

test('a result is written with the numbers that the database has', () => {
  const written: string[] = []
  const stream = { write: (text: string) => written.push(text) }
  createOutput({ json: true }, { stdout: stream, stderr: stream }).result(parseExactJson('{"id":1970670598291982290}'))
  expect(written).toEqual(['{"id":1970670598291982290}\n'])
})
