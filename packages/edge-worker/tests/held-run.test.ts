import { StarflowSql } from '@starflow/core'
import { Flow } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { workerFunctionOn } from './support/running-function.ts'

const database = await testDatabase()
const { sql, url } = database
const core = new StarflowSql(sql)

async function completed(runIds: readonly string[]): Promise<void> {
  for (;;) {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int from pgflow.runs where run_id in ${sql([...runIds])} and status = 'completed'`
    if (row.count === runIds.length) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a run that another transaction holds keeps no other run waiting, and is reported once it is free', {
  timeout: 300_000,
}, async () => {
  let letGo = () => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const flow = new Flow<{ waits: boolean }>({ slug: 'heldRuns' }).step({ slug: 'work' }, async ({ waits }) => {
    if (waits) await gate
    return 'done'
  })
  const worker = workerFunctionOn(url, flow, { maxConcurrent: 5 })
  await worker.ask()
  const runIds = await core.startFlows('heldRuns', Array(4).fill({ waits: true }))
  const holder = database.connect()
  try {
    await holder.begin(async (tx) => {
      await tx`select from pgflow.runs where run_id = ${runIds[0]!} for update`
      letGo()
      await completed(runIds.slice(1))
      await completed(await core.startFlows('heldRuns', Array(20).fill({ waits: false })))
      expect(await worker.event('report.held_up')).toMatchObject({ reports: 1 })
    })
    await completed(runIds)
  } finally {
    await holder.end()
    await worker.stop()
  }
  expect(await sql`select from pgflow.step_tasks where attempts_count <> 1`).toEqual([])
  expect(await sql`select from pgflow.task_attempts`).toEqual([])
  expect(worker.events.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
})
