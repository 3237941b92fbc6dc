import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'

const database = await testDatabase()
// One connection, as cron has it for a job: its plans are kept.
const sql = database.connect()
const core = new StarflowSql(sql)
await core.setSetting('functions_base_url', 'http://127.0.0.1:1/functions/v1')

/** Enabled functions that all have a live worker, among many workers that ended: the usual tick, which has nothing to do. */
async function haveFunctions(count: number): Promise<void> {
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
  await sql`insert into pgflow.worker_functions (function_name) select 'cost' || n from generate_series(1, ${count}::integer) n`
  await sql`
    insert into pgflow.workers (worker_id, queue_name, function_name, started_at, stopped_at, last_heartbeat_at)
    select gen_random_uuid(), 'cost' || n, 'cost' || n, now() - i * interval '10 minutes',
           case when i > 0 then now() - (i - 1) * interval '10 minutes' end, now() - i * interval '10 minutes'
    from generate_series(1, ${count}::integer) n, generate_series(0, 50) i`
  await sql`
    insert into pgflow.worker_function_queues (function_name, queue_name)
    select 'cost' || n, 'cost' || n from generate_series(1, ${count}::integer) n`
  await sql`analyze pgflow.workers, pgflow.worker_functions, pgflow.worker_function_queues`
}

/** Pages of the database that one idle tick looks at, whether in memory or not. */
async function pagesOfTick(): Promise<number> {
  const look = async () => {
    const [row] = await sql<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }[]>`
      explain (analyze, buffers, format json) select * from pgflow.ensure_workers()`
    const plan = row!['QUERY PLAN'][0].Plan
    expect(plan['Actual Rows']).toBe(0)
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
  }
  // The first ones also read the catalog.
  await look()
  await look()
  return look()
}

test('a tick with nothing to do looks at less than a page for each function, also among many workers that ended', async () => {
  const pages: Record<number, number> = {}
  for (const count of [0, 20, 200]) {
    await haveFunctions(count)
    pages[count] = await pagesOfTick()
  }
  const [workers] = await sql`
    select pg_relation_size('pgflow.workers') / current_setting('block_size')::integer as pages`
  expect(pages[20]! - pages[0]!).toBeLessThanOrEqual(20)
  expect(pages[200]! - pages[0]!).toBeLessThanOrEqual(200)
  expect(pages[200]).toBeLessThanOrEqual(5 * pages[0]!)
  expect(pages[200]).toBeLessThan(Number(workers!.pages) / 2)
})
