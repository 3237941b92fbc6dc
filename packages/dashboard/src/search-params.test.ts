import { expect, test } from 'vitest'
import { formatSearchParams, parseSearchParams } from './search-params.ts'

test('an address holds the filters as they would be typed', () => {
  expect(formatSearchParams({ status: ['error', 'running'], flow: 'x', limit: 5, all: true })).toBe(
    '?status=error&status=running&flow=x&limit=5&all=true',
  )
})

test('what is not set is not in the address', () => {
  expect(formatSearchParams({ a: undefined, b: null, c: [] })).toBe('')
})

test.each([{}, { flow: 'x' }, { status: ['error', 'running'] }, { text: 'a b&c=d?é#' }, { number: '12' }])(
  'what an address says is read again: %j',
  (search) => {
    expect(parseSearchParams(formatSearchParams(search))).toEqual(search)
  },
)
