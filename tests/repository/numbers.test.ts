import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/repository.ts'

const REFERENCE = join(ROOT, 'docs/reference')
const CONCEPTS = join(ROOT, 'docs/concepts')

const rows = readFileSync(join(REFERENCE, 'numbers.md'), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const match = /^\| (.+) \| (.+) \| \[.+\]\((.+)\) \| `(.+)` \|$/.exec(line)
    return match === null ? [] : [{ what: match[1]!, value: match[2]!, module: match[3]!, text: match[4]! }]
  })

/** A number with a unit. Code and file names have numbers of their own. */
const FIGURE =
  /\b\d[\d .]*(?:ms|s|min|hour|days?|MB|bytes|%|characters|attempts|requeues|instances|tasks|connections|retries|runs|messages)(?![\w/])/g

test.each(rows)('$what: $value stands in its module', ({ module, text }) => {
  expect(readFileSync(join(REFERENCE, module), 'utf8')).toContain(text)
})

const SERVER = join(ROOT, 'packages/server/src')

test('every number of the server is quoted', () => {
  const names = readFileSync(join(SERVER, 'numbers.ts'), 'utf8').match(/(?<=^export const )\w+/gm) ?? []
  const quoted = rows.filter(({ module }) => module.endsWith('packages/server/src/numbers.ts'))
  expect(quoted.map(({ text }) => text.split(' ')[0])).toEqual(names)
})

test('the server keeps its numbers in one module', () => {
  const files = readdirSync(SERVER, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== 'numbers.ts',
  )
  const elsewhere = files.filter((file) =>
    /^(?:export )?const [A-Z][A-Z0-9_]* = \d/m.test(readFileSync(join(SERVER, file), 'utf8')),
  )
  expect(elsewhere).toEqual([])
})

test.each(readdirSync(CONCEPTS))('every figure of %s is one of the numbers', (page) => {
  const values = new Set(rows.map(({ value }) => value))
  const text = readFileSync(join(CONCEPTS, page), 'utf8').replace(/```[\s\S]*?```|`[^`]*`/g, '')
  expect((text.match(FIGURE) ?? []).filter((figure) => !values.has(figure))).toEqual([])
})
