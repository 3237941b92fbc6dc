import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../../scripts/repository.ts'
import { runtimeCommand } from '../../../tests/support/runtimes.ts'
import { clientChecks } from './checks/client-checks.ts'
import { clientPlatform } from './support/client-platform.ts'

const SCRIPT = new URL('./checks/run-checks-in-deno.ts', import.meta.url).pathname
const { facts } = await clientPlatform()
/** What went wrong in each check; undefined where nothing did. */
const problems = new Map<string, string | undefined>()

beforeAll(async () => {
  const [deno, ...parameters] = runtimeCommand('Deno', SCRIPT)
  const child = spawn(deno, parameters, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DENO_NO_UPDATE_CHECK: '1', CLIENT_FACTS: JSON.stringify(facts) },
  })
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{"title":')) continue
    const { title, problem } = JSON.parse(line) as { title: string; problem?: string }
    problems.set(title, problem)
  }
  expect(problems.size, complaints).toBeGreaterThan(0)
})

describe('with the real supabase-js, in Deno,', () => {
  test.each(clientChecks)('$title', ({ title }) => {
    expect(problems.has(title), 'the check ran').toBe(true)
    expect(problems.get(title)).toBeUndefined()
  })
})
