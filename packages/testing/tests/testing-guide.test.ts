import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))
// Inside of the repository, where its packages are found.
mkdirSync(join(REPOSITORY, '.starflow'), { recursive: true })
const folder = mkdtempSync(join(REPOSITORY, '.starflow/testing-guide-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the tests of docs/guides/testing.md pass', async () => {
  const guide = readFileSync(join(REPOSITORY, 'docs/guides/testing.md'), 'utf8')
  const [, source] = /```ts\n([\s\S]*?)```/.exec(guide)!
  writeFileSync(join(folder, 'orders.test.ts'), source!)
  writeFileSync(join(folder, 'vitest.config.ts'), 'export default {}')
  const vitest = join(REPOSITORY, 'node_modules/vitest/vitest.mjs')
  const { VITEST: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [vitest, 'run', '--root', folder, '--reporter', 'json'],
    { env },
  )
  expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 3, numFailedTests: 0 })
})
