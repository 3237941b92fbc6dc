import { expect, test } from 'vitest'
import { allOrNone, extended, NOTHING_SELECTED, toggled } from './selection.ts'

const order = ['a', 'b', 'c', 'd', 'e']
const ids = (selection: { ids: ReadonlySet<string> }) => [...selection.ids].sort().join('')

test('a run goes in and out of a selection', () => {
  const one = toggled(NOTHING_SELECTED, 'b')
  expect(ids(one)).toBe('b')
  expect(ids(toggled(one, 'b'))).toBe('')
})

test('a range goes from the last one that was chosen, in either direction, and keeps what was chosen before', () => {
  const two = toggled(toggled(NOTHING_SELECTED, 'a'), 'd')
  expect(ids(extended(two, 'b', order))).toBe('abcd')
  expect(ids(extended(two, 'e', order))).toBe('ade')
})

test('a range without a beginning is one run', () => {
  expect(ids(extended(NOTHING_SELECTED, 'c', order))).toBe('c')
  expect(ids(extended(toggled(NOTHING_SELECTED, 'gone'), 'c', order))).toBe('cgone')
})

test('all of a list are chosen, or none', () => {
  const all = allOrNone(toggled(NOTHING_SELECTED, 'a'), order)
  expect(ids(all)).toBe('abcde')
  expect(ids(allOrNone(all, order))).toBe('')
  expect(ids(allOrNone(NOTHING_SELECTED, []))).toBe('')
})
