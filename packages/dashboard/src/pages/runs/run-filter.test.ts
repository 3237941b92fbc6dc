import { expect, test } from 'vitest'
import { formatSearchParams, parseSearchParams } from '../../search-params.ts'
import { filterStart, isFiltered, type RunFilter, runFilterSchema } from './run-filter.ts'

test('a filter is the same after a way through the address', () => {
  const filter: RunFilter = {
    flow: 'ordersV1',
    status: ['error', 'cancelled'],
    q: 'time out & more',
    since: '24h',
    placement: 'queue',
    env: 'prod',
  }
  expect(runFilterSchema.parse(parseSearchParams(formatSearchParams(filter)))).toEqual(filter)
  expect(runFilterSchema.parse(parseSearchParams('?status=error'))).toEqual({ status: ['error'] })
})

test('what an address says wrongly is left out, and the rest counts', () => {
  expect(runFilterSchema.parse(parseSearchParams('?status=good&since=ever&from=monday&flow=x&q=%20'))).toEqual({
    flow: 'x',
  })
})

test('an empty filter leaves nothing out', () => {
  expect(isFiltered(runFilterSchema.parse({}))).toBe(false)
  expect(isFiltered(runFilterSchema.parse({ q: 'x' }))).toBe(true)
})

test('a start that is written counts before one that is counted back from now', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  expect(filterStart({ since: '24h' }, now)).toBe('2026-01-01T00:00:00.000Z')
  expect(filterStart({ since: '24h', from: '2025-12-01T00:00:00Z' }, now)).toBe('2025-12-01T00:00:00Z')
  expect(filterStart({}, now)).toBeUndefined()
})
