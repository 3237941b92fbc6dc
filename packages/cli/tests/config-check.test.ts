import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommandLine } from '../src/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'starflow-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function check(text: string, ...options: string[]) {
  const file = join(folder, 'starflow.yaml')
  writeFileSync(file, text)
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (part: string) => {
      written[name] += part
    },
  })
  const exitCode = await runCommandLine(['config', 'check', file, ...options], {
    ...{ stdout: stream('stdout'), stderr: stream('stderr') },
  })
  return { exitCode, ...written, file }
}

test('config check tells every problem with its line and column, an unknown flow with those that are known', async () => {
  const { exitCode, stderr, file } = await check(
    'triggers:\n  a: { cron: 0 3 * * *, flow: nobodyV1 }\npools:\n  b: {}\nwebhooks:\n  c:\n    flow: nobodyV1\n    signature: { scheme: github, secrets: [A_SECRET] }\n',
  )
  expect(exitCode).toBe(1)
  expect(stderr).toContain(`${file}:2:25 triggers.a.flow: there is no flow "nobodyV1". Known: `)
  expect(stderr).toContain(`${file}:7:5 webhooks.c.flow: there is no flow "nobodyV1".`)
})

test('config check prints what the file declares, and which secrets the server will need', async () => {
  const guide = readFileSync(new URL('../../../docs/guides/triggers.md', import.meta.url), 'utf8')
  const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(guide)!
  const known = yaml!.replaceAll('greetV1', 'communityThreadsV1')
  const text = await check(known)
  expect(text.stderr).toBe('')
  expect(text.exitCode).toBe(0)
  expect(text.stdout).toMatch(/nightlyGreeting +communityThreadsV1 +30 2 \* \* \* +Europe\/Berlin +last/)
  expect(text.stdout).toContain('/webhooks/github')
  expect(text.stdout).toContain('GITHUB_WEBHOOK_SECRET')
  const json = JSON.parse((await check(known, '--json')).stdout)
  expect(json).toMatchObject({ secrets: ['GITHUB_WEBHOOK_SECRET'], pools: { heavy: { concurrency: 2 } } })
})
