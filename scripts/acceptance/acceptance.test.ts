import { expect, test } from 'vitest'
import { findUnproved } from './acceptance.ts'

const FILES: Readonly<Record<string, string>> = {
  '../a.test.ts': "test('is true', () => {})\ntest.each([1])('is %d', () => {})",
  '../b.json': '{ "claim": "names fit" }',
}
const check = (rows: string, rest = '') =>
  findUnproved(
    `# Acceptance\n\n| criterion | proved by |\n|---|---|\n${rows}\n${rest}\n[a]: ../a.test.ts\n[b]: ../b.json\n`,
    (path) => FILES[path],
  ).map(({ line, problem }) => `${line}: ${problem}`)

test('a document whose every row names tests that exist has nothing to report', () => {
  expect(check('| it is | [a][] `is true`, `is %d` [b][] `names fit` |')).toEqual([])
})

test('a title that no literal of its file is as a whole is told with its line and file', () => {
  expect(check('| it is | [a][] `is true`, `is tru` [b][] `names` |')).toEqual([
    '5: ../a.test.ts has no test "is tru"',
    '5: ../b.json has no test "names"',
  ])
})

test('a title belongs to the last file before it', () => {
  expect(check('| it is | [a][] `is true` [b][] `is true` |')).toEqual(['5: ../b.json has no test "is true"'])
})

test('a row without a test is told, also when its criterion has code in it', () => {
  expect(check('| it is `so` | by looking |\n| it is | [a][] `is true` [b][] `names fit` |')).toEqual([
    '5: names no test',
  ])
})

test('the rows that are not proved need no test, and what comes after them does', () => {
  const proved = '| it is | [a][] `is true` [b][] `names fit` |'
  expect(check(proved, '\n## Not yet proved\n\n| x | no test |\n\n## More\n\n| y | none |')).toEqual([
    '13: names no test',
  ])
})

test('a label without a file, a file that is gone and a label that nobody uses are told', () => {
  const row = '| it is | [a][] `is true` [c][] `x` [d][] `y` |'
  expect(check(row, '[d]: ../gone.ts')).toEqual([
    '5: [c] is not defined',
    '5: ../gone.ts does not exist',
    '8: [b] is not used',
  ])
})
