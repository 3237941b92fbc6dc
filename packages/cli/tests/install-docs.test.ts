import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

/** The page is followed outside of the clone, which stands beside the project under the name that the page gives it. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const PAGE = readFileSync(`${ROOT}docs/get-started/install.md`, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'starflow-install-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the page about installing makes a project outside of the clone that runs a flow and has its worker functions', () => {
  const [, own] = PAGE.split('## In a project of your own')
  const commands = [...own!.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!.trim())
  const [, file] = /This is `([^`]+)`/.exec(own!)!
  const [, flow] = /^```ts\n([\s\S]*?)^```$/m.exec(own!)!
  symlinkSync(ROOT, join(folder, 'starflow'))
  // Nothing is fetched: what npm does not find beside it, it does not get.
  const env = { ...process.env, npm_config_offline: 'true', npm_config_audit: 'false' }
  const type = (text: string, cwd: string) =>
    execFileSync('/bin/sh', ['-e', '-c', text], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

  const [install, run] = commands
  type(install!, folder)
  const project = join(folder, 'my-app')
  mkdirSync(dirname(join(project, file!)), { recursive: true })
  writeFileSync(join(project, file!), flow!)
  expect(type(run!, project)).toContain('"shout": "HELLO ADA!"')
  expect(type('npx starflow functions generate', project)).toContain('2 worker functions are up to date.')
})
