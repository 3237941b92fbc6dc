import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../../scripts/repository.ts'
import { resolveDenoBinary } from '../src/functions/deno-binary.ts'
import { realtimeChecks } from './supabase-js/realtime-checks.ts'
import { restChecks } from './supabase-js/rest-checks.ts'
import { startApiPlatform } from './support/api-platform.ts'

const SCRIPT = new URL('./supabase-js/run-checks-in-deno.ts', import.meta.url).pathname
const { platform, context } = await startApiPlatform()
/** What went wrong in each check; undefined where nothing did. */
const problems = new Map<string, string | undefined>()

beforeAll(async () => {
  const { sql: _sql, transport: _transport, ...facts } = context
  const deno = process.env.STARFLOW_TEST_DENO ?? resolveDenoBinary()
  const child = spawn(
    deno,
    [
      'run',
      '--no-check',
      '--no-prompt',
      '--cached-only',
      '--node-modules-dir=manual',
      '--allow-net',
      '--allow-env',
      '--allow-read',
      '--allow-sys',
      SCRIPT,
    ],
    {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        DENO_DIR: join(tmpdir(), 'starflow-test-deno'),
        CHECK_CONTEXT: JSON.stringify({ ...facts, databaseUrl: platform.databaseUrl }),
      },
    },
  )
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  for await (const line of createInterface({ input: child.stdout })) {
    // supabase-js prints too.
    if (!line.startsWith('{"title":')) continue
    const { title, problem } = JSON.parse(line) as { title: string; problem?: string }
    problems.set(title, problem)
  }
  expect(problems.size, complaints).toBeGreaterThan(0)
})

describe('supabase-js in Deno', () => {
  test.each([...restChecks, ...realtimeChecks])('$title', ({ title }) => {
    expect(problems.has(title), 'the check ran').toBe(true)
    expect(problems.get(title)).toBeUndefined()
  })
})
