/** Fails when docs/reference/acceptance.md names a test that does not exist, or a criterion without one. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findUnproved } from './acceptance/acceptance.ts'
import { ROOT } from './repository.ts'

const FOLDER = 'docs/reference'
const document = readFileSync(join(ROOT, FOLDER, 'acceptance.md'), 'utf8')
const problems = findUnproved(document, (path) => {
  const file = join(ROOT, FOLDER, path)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
})
if (problems.length > 0) {
  console.error(problems.map(({ line, problem }) => `${FOLDER}/acceptance.md:${line} ${problem}`).join('\n'))
  console.error('Name the test that proves the criterion now, or move the row to "Not yet proved" with the reason.')
  process.exit(1)
}
console.log('Every proved criterion of acceptance.md names tests that exist.')
