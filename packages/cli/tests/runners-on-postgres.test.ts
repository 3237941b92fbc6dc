import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SupabaseWorkflowStateAdapter } from '@starflow/engine/adapters/supabase'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { SAMPLE_FLOWS } from './support/sample-flows.ts'
import { SampleProject } from './support/sample-project.ts'
import { endStarflowProcesses, runStarflow, startStarflow } from './support/starflow-process.ts'

/** Every process reaches the database as it would reach a Supabase project: over REST, and directly only to be woken. */
const database = await testDatabase()
const { supabaseUrl, serviceRoleKey } = await restGateway(database, ['public', 'starflow'])
const adapter = SupabaseWorkflowStateAdapter.open({ supabaseUrl, serviceRoleKey })
const env = {
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SERVICE_ROLE_KEY: serviceRoleKey,
  SUPABASE_DB_URL: database.url,
  STARFLOW_WAIT_TOKEN_SECRET: 'a secret of at least thirty-two characters',
}

let project: SampleProject

// The lease of a runner that was killed has to run out.
vi.setConfig({ testTimeout: 240_000 })

beforeEach(() => {
  project = new SampleProject({ 'flows.ts': SAMPLE_FLOWS })
})
afterEach(async () => {
  await endStarflowProcesses()
  project.dispose()
})
afterAll(() => adapter.close())

async function json<T>(...args: string[]): Promise<T> {
  const { stdout, lines } = await runStarflow(project.root, [...args, '--json'], { env })
  if (stdout === '') throw new Error(lines.join('\n'))
  return JSON.parse(stdout) as T
}

const startRunner = () => startStarflow(project.root, ['runner', 'flows.ts', '--json'], { env })
const claimed = (runId: string) => new RegExp(`"event":"run.claimed","runId":"${runId}"`)

function ran(): number[] {
  if (!existsSync(join(project.root, 'ran.txt'))) return []
  return [...project.read('ran.txt').matchAll(/^each (\d+)$/gm)].map(([, index]) => Number(index))
}

test('the run of a runner that is killed in the middle is claimed by another one, and repeats no completed node', async () => {
  const input = Array.from({ length: 400 }, (_, n) => n)
  const { runId } = await json<{ runId: string }>(
    'start',
    'flows.ts',
    '--flow',
    'count',
    '--input',
    JSON.stringify(input),
  )
  const victim = startRunner()
  await victim.line(claimed(runId))
  const survivor = startRunner()
  await survivor.line(/"event":"runner.started"/)
  await expect.poll(() => ran().length, { timeout: 60_000 }).toBeGreaterThan(20)
  victim.child.kill('SIGKILL')
  await victim.ended
  const before = ran().length

  await survivor.line(claimed(runId))
  await survivor.line(/"event":"run.ended",.*"end":"success"/)
  // A write that was under way when its runner died may still have come in; after the loss none does.
  const events = await adapter.readEvents(runId)
  const completed = events
    .slice(
      0,
      events.findIndex(({ type }) => type === 'runner_lost'),
    )
    .flatMap(({ type, nodeId }) => (type === 'node_complete' ? Number(/\[(\d+)\]/.exec(nodeId!)![1]) : []))
  expect(completed.length).toBeGreaterThan(10)
  expect(completed.length).toBeLessThan(400)
  expect(
    ran()
      .slice(before)
      .sort((a, b) => a - b),
  ).toEqual(input.filter((n) => !completed.includes(n)))
  expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', output: { sum: 159_600 }, claimAttempts: 2 })
})

test('a wait is approved from a process that is no runner, and whichever runner is there goes on', async () => {
  const first = startRunner()
  const input = '{"text": "news"}'
  const { runId } = await json<{ runId: string }>('start', 'flows.ts', '--flow', 'approval', '--input', input)
  await first.line(/"event":"run.ended",.*"end":"paused"/)
  first.child.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  expect(await json('waits', 'approve', runId, '--payload', '{"by": "ana"}')).toMatchObject({ outcome: 'accepted' })
  const second = startRunner()
  await second.line(/"event":"run.ended",.*"end":"success"/)
  expect(await json('runs', 'show', runId)).toMatchObject({ run: { output: { publish: 'NEWS released by ana' } } })
  expect(project.read('ran.txt')).toBe('draft\n')
})
