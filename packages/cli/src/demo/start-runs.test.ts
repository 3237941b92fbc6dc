import { expect, test } from 'vitest'
import { chunksOf } from './start-runs.ts'

test('chunks stay within count and bytes, in order', () => {
  expect(chunksOf(['a', 'b', 'c'], 2, 100)).toEqual([['a', 'b'], ['c']])
  expect(chunksOf(['aa', 'bb', 'c'], 9, 4)).toEqual([['aa', 'bb'], ['c']])
})

test('bytes are counted as UTF-8, and a text above the bound stands alone', () => {
  expect(chunksOf(['éé', 'x'], 9, 4)).toEqual([['éé'], ['x']])
  expect(chunksOf(['a', 'toolong', 'b'], 9, 4)).toEqual([['a'], ['toolong'], ['b']])
})

test('nothing gives no chunk', () => {
  expect(chunksOf([])).toEqual([])
})
