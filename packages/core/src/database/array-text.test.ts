import { expect, test } from 'vitest'
import { parseArray, serializeArray } from './array-text.ts'

test.each([
  ['{}', []],
  ['{1,-2,NULL}', [1, -2, null]],
  [
    '{{1,2},{3,4}}',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['[0:1]={5,6}', [5, 6]],
])('the array %s of numbers is %j', (text, list) => {
  expect(parseArray(text, Number)).toEqual(list)
})

test.each([
  [
    '{a,"b c","","d,e","f\\"g","h\\\\i","{j}","NULL",NULL}',
    ['a', 'b c', '', 'd,e', 'f"g', 'h\\i', '{j}', 'NULL', null],
  ],
])('the array %s of texts is %j', (text, list) => {
  expect(parseArray(text, String)).toEqual(list)
  expect(parseArray(String(serializeArray(list, String)), String)).toEqual(list)
})

test('boxes have commas, and are separated by something else', () => {
  expect(parseArray('{(1,1),(0,0);(2,2),(1,1)}', String, ';')).toEqual(['(1,1),(0,0)', '(2,2),(1,1)'])
})
