import { expect, test } from 'vitest'
import { diffLines } from './text-diff.ts'

test('only lines that change are shown, in the order of the texts', () => {
  expect(diffLines('a\nb\nc\nd', 'a\nx\nc\nd\ne')).toEqual(['- b', '+ x', '+ e'])
})

test('a new text is all added, and equal texts have no difference', () => {
  expect(diffLines(undefined, 'a\nb')).toEqual(['+ a', '+ b'])
  expect(diffLines('a\nb', 'a\nb')).toEqual([])
})
