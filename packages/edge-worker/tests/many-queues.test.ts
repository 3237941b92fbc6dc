import { StarflowSql } from '@starflow/core'
import { type AnyFlow, Flow, type StepQueuedFlow, withStepQueues } from '@starflow/dsl'
import { afterEach, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { groupedFunctionOn, type RunningFunction } from './support/running-function.ts'

const database = await testDatabase()
const { sql, url } = database
const core = new StarflowSql(sql)

let running: RunningFunction | undefined
afterEach(async () => {
  await running?.stop()
})

async function completed(runId: string): Promise<void> {
  for (let status = 'started'; status !== 'completed'; ) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const [run] = await sql<{ status: string }[]>`select status from pgflow.runs where run_id = ${runId}`
    status = run!.status
    expect(status).not.toBe('failed')
  }
}

const STEPS = 60

test('a function that serves 60 queues works with eight connections, in each handler too', async () => {
  const admin = database.as('supabase_admin')
  await admin`create role few login password 'few' connection limit 8 in role postgres`
  await admin`alter role few set role = 'postgres'`
  const address = new URL(url)
  address.username = 'few'
  address.password = 'few'

  let flow = new Flow({ slug: 'manyQueues' }) as unknown as AnyFlow & Pick<Flow, 'step'>
  for (let n = 0; n < STEPS; n++) {
    flow = flow.step(
      { slug: `step${n}`, ...(n % 10 === 0 ? {} : { dependsOn: [`step${n - 1}`] }) } as never,
      async (_input: unknown, ctx: { sql: typeof sql }) => {
        const [row] = await ctx.sql<{ n: number }[]>`select ${n}::integer as n`
        return row!.n
      },
    )
  }
  running = groupedFunctionOn(address.href, [withStepQueues(flow)])
  expect(await running.ask()).toMatchObject({ status: 'started' })
  const [runId] = await core.startFlows('manyQueues', [{}])
  await completed(runId!)
  const workers = await sql`select from pgflow.workers where stopped_at is null`
  expect(workers).toHaveLength(STEPS)
  // Four for the workers' calls, three for handlers, one for a heartbeat that is held up; handlers were never refused one.
  expect(running.events.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  expect((await running.event('worker.started')).connectionsNeeded).toBeLessThanOrEqual(14)
})

test('a flow whose definition another transaction holds keeps no other flow of the function from starting', async () => {
  const flow = (slug: string) => {
    const steps = new Flow({ slug })
      .step({ slug: 'a' }, () => 1)
      .step({ slug: 'b' }, () => 1)
      .step({ slug: 'c' }, () => 1)
      .step({ slug: 'd' }, () => 1)
      .step({ slug: 'e' }, () => 1)
    return withStepQueues(steps) as unknown as StepQueuedFlow<AnyFlow>
  }
  const held = database.connect()
  running = groupedFunctionOn(url, [flow('heldFlow'), flow('freeFlow')])
  let asked: Promise<unknown> | undefined
  await held.begin(async (tx) => {
    await tx`select pgflow._lock_flow('heldFlow')`
    asked = running!.ask()
    while ((await sql`select from pgflow.flows where flow_slug = 'freeFlow'`).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20))
    const [runId] = await core.startFlows('freeFlow', [{}])
    await completed(runId!)
  })
  expect(await asked).toMatchObject({ status: 'started' })
  const [runId] = await core.startFlows('heldFlow', [{}])
  await completed(runId!)
})
