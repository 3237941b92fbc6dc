import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type EndedRun, RunWatch } from '../src/dev/run-watch.ts'

const { sql, connect } = await testDatabase()
const PATIENCE = { timeout: 60_000, interval: 10 }

// Their conditions alone end these runs.
beforeAll(async () => {
  for (const [flow, whenUnmet] of [
    ['skips', 'skip'],
    ['fails', 'fail'],
  ] as const) {
    await sql`select pgflow.create_flow(${flow})`
    await sql`select pgflow.add_step(${flow}, 'only', required_input_pattern => '{"go": true}', when_unmet => ${whenUnmet})`
  }
})

/** Settles when it has looked once, so that it knows from when on it tells. */
async function startWatch() {
  const told: EndedRun[] = []
  const watch = new RunWatch({ sql, onEnded: (runs) => told.push(...runs), intervalMs: 20 })
  watch.start()
  onTestFinished(() => watch.stop())
  while (told.length === 0) await start('skips')
  return told
}

async function start(flow: string): Promise<string> {
  const [run] = await sql<{ run_id: string }[]>`select run_id from pgflow.start_flow(${flow}, '{"secret": "s3cret"}')`
  return run!.run_id
}

test('runs that complete and fail are told once, with the step and without their input', async () => {
  const told = await startWatch()
  const ids = [await start('skips'), await start('fails')]
  const ours = () => told.filter(({ runId }) => ids.includes(runId))
  await vi.waitUntil(() => ours().length === 2, PATIENCE)
  // A later one has been told by later looks, which saw the first two again.
  const last = await start('skips')
  await vi.waitUntil(() => told.some(({ runId }) => runId === last), PATIENCE)
  expect(ours()).toEqual([
    expect.objectContaining({ runId: ids[0], flowSlug: 'skips', status: 'completed', failedStep: null }),
    expect.objectContaining({ runId: ids[1], flowSlug: 'fails', status: 'failed', failedStep: 'only' }),
  ])
  expect(JSON.stringify(told)).not.toContain('s3cret')
})

test('a run that is cancelled is told as that', async () => {
  const told = await startWatch()
  await sql`select pgflow.create_flow('waits')`
  await sql`select pgflow.add_step('waits', 'only')`
  const runId = await start('waits')
  await sql`select pgflow.cancel_run(${runId})`
  await vi.waitUntil(() => told.some((run) => run.runId === runId), PATIENCE)
  expect(told.filter((run) => run.runId === runId)).toMatchObject([{ status: 'cancelled', failedStep: null }])
})

test('a run whose end is committed late is told all the same', async () => {
  const told = await startWatch()
  const other = connect({ connections: 1 })
  const late = await other.begin(async (tx) => {
    const [run] = await tx`select run_id from pgflow.start_flow('skips', '{}')`
    // Looks go on meanwhile, and tell what is started later.
    const early = await start('skips')
    await vi.waitUntil(() => told.some(({ runId }) => runId === early), PATIENCE)
    return run!.run_id as string
  })
  await vi.waitUntil(() => told.some(({ runId }) => runId === late), PATIENCE)
})

test('a run that is retried and ends again is told again', async () => {
  const told = await startWatch()
  const id = await start('fails')
  const count = () => told.filter(({ runId }) => runId === id).length
  await vi.waitUntil(() => count() === 1, PATIENCE)
  await sql`select pgflow.retry_run(${id})`
  await vi.waitUntil(() => count() === 2, PATIENCE)
})

test('one look that is held up puts the next ones off by no minute', async () => {
  const told = await startWatch()
  const aside = connect({ connections: 1 })
  await connect({ connections: 1 }).begin(async (tx) => {
    await tx`lock table pgflow.runs in access exclusive mode`
    const isHeldUp = async () =>
      (await aside`select from pg_locks where relation = 'pgflow.runs'::regclass and not granted`).length > 0
    await vi.waitUntil(isHeldUp, PATIENCE)
    await tx`select pg_sleep(0.7)`
  })
  const after = await start('skips')
  await vi.waitUntil(() => told.some(({ runId }) => runId === after), PATIENCE)
})
