import { StarflowSql } from '@starflow/core'
import { Flow, type Json, withStepQueues } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
await sql`create table public.effects (run_id uuid)`

const slow = withStepQueues(
  new Flow({ slug: 'slowStep' }).step({ slug: 'work' }, async (_input, ctx) => {
    await ctx.sql`insert into public.effects values (${ctx.stepTask.run_id})`
    await new Promise((resolve) => setTimeout(resolve, 200))
    return 1
  }),
)

/** Tasks per second of so many instances of one slow step, by the database's clock. */
async function throughput(instances: number, tasks: number): Promise<number> {
  const workers = Array.from({ length: instances }, (_, index) =>
    workerFunctionOn(url, slow, {
      stepSlug: 'work',
      maxConcurrent: 2,
      maxPollIntervalMs: 20,
      functionName: index === 0 ? 'slowstep__work' : `slowstep__work-${index + 1}`,
    }),
  )
  try {
    await Promise.all(workers.map((worker) => worker.ask()))
    const runIds = await core.startFlows('slowStep', Array<Json>(tasks).fill({}))
    for (;;) {
      const [row] = await sql<{ open: number; seconds: number }[]>`
        select count(*) filter (where status <> 'completed')::int as open,
               extract(epoch from max(completed_at) - min(started_at))::float as seconds
        from pgflow.step_tasks where run_id in ${sql(runIds)}`
      if (row!.open === 0) {
        const [effects] = await sql`
          select count(*)::int as all, count(distinct run_id)::int as runs from public.effects where run_id in ${sql(runIds)}`
        expect(effects).toEqual({ all: tasks, runs: tasks })
        return tasks / row!.seconds
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
  }
}

test('three instances of one slow step do at least 2.5 times as much as one, and nothing twice', async () => {
  const one = await throughput(1, 24)
  const three = await throughput(3, 72)
  expect(three / one).toBeGreaterThanOrEqual(2.5)
})
