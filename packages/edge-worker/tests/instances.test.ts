import { StarflowSql } from '@starflow/core'
import { Flow, type Json, withStepQueues } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
const PATIENCE = { timeout: 60_000, interval: 20 }
await sql`create table public.effects (run_id uuid)`

let release: () => void = () => {}
let released: Promise<void>

const slow = withStepQueues(
  new Flow({ slug: 'slowStep' }).step({ slug: 'work' }, async (_input, ctx) => {
    await ctx.sql`insert into public.effects values (${ctx.stepTask.run_id})`
    await released
    return 1
  }),
)

const MAX_CONCURRENT = 2

/** How many tasks so many instances of one slow step have in hand at a time, each its share; all of them are done once. */
async function tasksInHand(instances: number, tasks: number): Promise<number> {
  released = new Promise((resolve) => {
    release = resolve
  })
  const workers = Array.from({ length: instances }, (_, index) =>
    workerFunctionOn(url, slow, {
      stepSlug: 'work',
      maxConcurrent: MAX_CONCURRENT,
      maxPollIntervalMs: 20,
      functionName: index === 0 ? 'slowstep__work' : `slowstep__work-${index + 1}`,
    }),
  )
  try {
    await Promise.all(workers.map((worker) => worker.ask()))
    const runIds = await core.startFlows('slowStep', Array<Json>(tasks).fill({}))
    const inHand = async () => {
      const rows = await sql<{ tasks: number }[]>`
        select count(*)::int as tasks from pgflow.step_tasks
        where run_id in ${sql(runIds)} and status = 'started' group by last_worker_id`
      return rows.map((row) => row.tasks)
    }
    await expect.poll(inHand, PATIENCE).toEqual(Array<number>(instances).fill(MAX_CONCURRENT))
    release()
    const completed = async () =>
      (await sql`select from pgflow.step_tasks where run_id in ${sql(runIds)} and status = 'completed'`).length
    await expect.poll(completed, PATIENCE).toBe(tasks)
    const [effects] = await sql`
      select count(*)::int as all, count(distinct run_id)::int as runs from public.effects where run_id in ${sql(runIds)}`
    expect(effects).toEqual({ all: tasks, runs: tasks })
    return instances * MAX_CONCURRENT
  } finally {
    release()
    await Promise.all(workers.map((worker) => worker.stop()))
  }
}

test('three instances of one slow step have three times the tasks of one in hand, and do none twice', async () => {
  expect(await tasksInHand(1, 24)).toBe(2)
  expect(await tasksInHand(3, 72)).toBe(6)
})
