import { Flow, withStepQueues } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()

test('a worker that planned on empty tables does not read all active runs later', async () => {
  // One connection, as a worker has it: its plans are made now and kept.
  const sql = database.connect()
  const flow = await CompiledFlow.compile(
    sql,
    withStepQueues(
      new Flow<{ n: number }>({ slug: 'plans' })
        .step({ slug: 'first' }, ({ n }) => n)
        .step({ slug: 'second', dependsOn: ['first'] }, ({ first }) => first),
    ),
  )
  await flow.start({ n: 0 })
  await flow.drain(() => 1)
  const before = await scansOfActiveRuns()

  await flow.start(...Array.from({ length: 50 }, (_, n) => ({ n })))
  const [task] = await flow.claim('first', 1)
  await flow.work('second', { reports: [completed(task!, 1)] })
  const failing = await flow.claim('first', 1)
  await flow.core.releaseTasks(
    flow.workerId,
    failing.map((each) => ({ ...each, started: false })),
  )
  expect(await scansOfActiveRuns()).toBe(before)

  async function scansOfActiveRuns(): Promise<number> {
    await sql`select pg_stat_force_next_flush()`
    const [row] = await sql<[{ scans: string }]>`
      select idx_scan as scans from pg_stat_user_indexes where indexrelname = 'runs_active_idx'`
    return Number(row.scans)
  }
})

test('a worker that planned on empty tables does not read all tasks of its queue later', async () => {
  const sql = database.connect()
  const flow = await CompiledFlow.compileShape(sql, 'longQueue', shape({ work: {} }))
  const finish = async (count: number) => {
    await flow.start(...Array.from({ length: count }, () => ({})))
    await flow.drain(() => 1)
  }
  // A plan is kept from the sixth execution on.
  for (let round = 0; round < 10; round++) await finish(1)
  await finish(500)
  await flow.start({})
  const before = await tasksRead()
  expect(await flow.claim('work', 1)).toHaveLength(1)
  expect((await tasksRead()) - before).toBeLessThan(20)

  async function tasksRead(): Promise<number> {
    await sql`select pg_stat_force_next_flush()`
    const [row] = await sql<[{ read: string }]>`
      select idx_tup_read as read from pg_stat_user_indexes where indexrelname = 'step_tasks_queue_name_message_id_key'`
    return Number(row.read)
  }
})

test('behind an old transaction a claim costs two pages for each message done since, and nothing of that once it has ended', async () => {
  const flow = await CompiledFlow.compileShape(database.sql, 'pinned', shape({ work: {} }))
  const finish = async (count: number) => {
    await flow.start(...Array.from({ length: count }, () => ({})))
    await flow.drain(() => 1)
  }
  await finish(10)
  const atFirst = await pagesOfClaim()

  const old = await database.connect().reserve()
  await old`begin isolation level repeatable read`
  await old`select from pgflow.flows`
  const done = 2000
  await finish(done)
  const behind = await pagesOfClaim()
  expect(behind - atFirst).toBeGreaterThan(done)
  expect(behind - atFirst).toBeLessThan(2.5 * done)

  await old`rollback`
  old.release()
  // The next ones note which entries of the index are dead to everybody, and those behind pass them by. A server learns what is dead
  // when the oldest of all its transactions changes, and here other files have theirs.
  await expect.poll(pagesOfClaim, { timeout: 60_000 }).toBeLessThan(atFirst + 0.25 * done)

  /** Pages that a claim of ten tasks looks at, in whatever its functions do. */
  async function pagesOfClaim(): Promise<number> {
    await flow.start(...Array.from({ length: 10 }, () => ({})))
    const [row] = await database.sql<[{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }]>`
      explain (analyze, buffers, format json)
      select * from pgflow.settle_and_claim(${flow.workerId}::uuid, '[]', ${flow.queue('work')}, 'pinned', 10, 'work')`
    const plan = row['QUERY PLAN'][0].Plan
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
  }
})
