import { expect, test } from 'vitest'
import { sqlLiteral } from './one-round-trip.ts'

test('a string is a literal that quotes and backslashes do not leave', () => {
  expect(sqlLiteral(`it's \\ '' \\'; drop table x; --`)).toBe(` E'it''s \\\\ '''' \\\\''; drop table x; --'`)
})

test('numbers and null are written as they are', () => {
  expect([sqlLiteral(12), sqlLiteral(-1.5), sqlLiteral(null)]).toEqual(['12', '-1.5', 'null'])
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])('%s is refused', (value) => {
  expect(() => sqlLiteral(value)).toThrow('is no number that SQL knows')
})
