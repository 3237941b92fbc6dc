import { Flow, withStepQueues } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'

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
