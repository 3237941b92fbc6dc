import { StarflowSql } from '@starflow/core'
import { type AnyFlow, Flow } from '@starflow/dsl'
import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { queueWorkerOn, type RunningFunction, workerFunctionOn } from './support/running-function.ts'

const database = await testDatabase()
const { sql, url } = database
const core = new StarflowSql(sql)

const running: RunningFunction[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((worker) => worker.stop()))
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** A role with one connection, which the worker's own calls take: its handlers are refused theirs with 53300. */
async function narrowRole(name: string): Promise<{ url: string; widen: () => Promise<unknown> }> {
  const admin = database.as('supabase_admin')
  await admin`create role ${sql(name)} login password 'narrow' connection limit 1 in role postgres`
  await admin`alter role ${sql(name)} set role = 'postgres'`
  const address = new URL(url)
  address.username = name
  address.password = 'narrow'
  return { url: address.href, widen: () => admin`alter role ${sql(name)} connection limit -1` }
}

const start = async (flow: AnyFlow) => (await core.startFlows(flow.slug, [{}]))[0]!
const taskOf = async (runId: string, stepSlug: string) =>
  (
    await sql<{ status: string; counted: number; forgiven: number }[]>`
      select status, attempts_count - attempts_forgiven as counted, attempts_forgiven as forgiven
      from pgflow.step_tasks where run_id = ${runId} and step_slug = ${stepSlug}`
  )[0]!
const forgiven = (runId: string, stepSlug: string, count: number) =>
  until(async () => (await taskOf(runId, stepSlug)).forgiven >= count)
const completed = (runId: string, stepSlug: string) =>
  until(async () => (await taskOf(runId, stepSlug)).status === 'completed')

describe('no attempt is used up', () => {
  test('while the database has no connection for handlers, whether they query or run in a transaction', async () => {
    const role = await narrowRole('narrow_flow')
    const flow = new Flow({ slug: 'noConnection', maxAttempts: 2, baseDelay: 0 })
      .step({ slug: 'query' }, async (_input, ctx) => {
        await ctx.sql`select 1`.catch((error: unknown) => {
          throw new Error('The query of the handler failed.', { cause: error })
        })
      })
      .step({ slug: 'transaction', transactional: true }, async (_input, ctx) => {
        await ctx.tx`select 1`
      })
    const worker = workerFunctionOn(role.url, flow)
    running.push(worker)
    await worker.ask()
    const runId = await start(flow)
    // Twice would use up the budget of two.
    await Promise.all([forgiven(runId, 'query', 2), forgiven(runId, 'transaction', 2)])
    await role.widen()
    await Promise.all([completed(runId, 'query'), completed(runId, 'transaction')])
    expect(await taskOf(runId, 'query')).toMatchObject({ counted: 1 })
    expect(await taskOf(runId, 'transaction')).toMatchObject({ counted: 1 })
    expect(await worker.event('task.failed')).toMatchObject({ forgiven: true, permanent: false })
  })

  test('by a step that waits in vain for a connection which others have reserved', async () => {
    let free: () => void = () => {}
    const isFree = new Promise<void>((resolve) => {
      free = resolve
    })
    const flow = new Flow({ slug: 'allReserved', baseDelay: 0 })
      .step({ slug: 'holder' }, async (_input, ctx) => {
        const reserved = await ctx.sql.reserve()
        await isFree
        reserved.release()
      })
      .step({ slug: 'waiter', timeout: 1, maxAttempts: 2, startDelay: 1 }, (_input, ctx) =>
        ctx.sql.begin(async (tx) => {
          await tx`select 1`
        }),
      )
    const worker = workerFunctionOn(url, flow, { maxPgConnections: 2 })
    running.push(worker)
    await worker.ask()
    const runId = await start(flow)
    await forgiven(runId, 'waiter', 2)
    free()
    await completed(runId, 'waiter')
    expect(await taskOf(runId, 'waiter')).toMatchObject({ counted: 1 })
  })

  test('by a message of a queue without a flow', async () => {
    const role = await narrowRole('narrow_queue')
    await sql`select pgmq.create('narrow')`
    const attempts: number[] = []
    const worker = queueWorkerOn(
      role.url,
      async (_message, context) => {
        const ctx = context as { sql: typeof sql; rawMessage: { read_ct: number } }
        attempts.push(ctx.rawMessage.read_ct)
        await ctx.sql`select 1`
      },
      { queueName: 'narrow', retry: { limit: 1, baseDelay: 0 } },
    )
    running.push(worker)
    await worker.ask()
    await sql`select pgmq.send('narrow', '{}'::jsonb)`
    await until(async () => (await sql`select from pgflow.forgiven_reads where queue_name = 'narrow'`).length >= 2)
    await role.widen()
    await until(async () => (await sql`select from pgmq.a_narrow`).length === 1)
    expect(attempts.length).toBeGreaterThanOrEqual(3)
  })
})

test('what a handler throws by itself counts, although it looks like a lost connection', async () => {
  const flow = new Flow({ slug: 'looksAlike', maxAttempts: 2, baseDelay: 0 }).step({ slug: 'work' }, () => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  })
  const worker = workerFunctionOn(url, flow)
  running.push(worker)
  await worker.ask()
  const runId = await start(flow)
  await until(async () => (await taskOf(runId, 'work')).status === 'failed')
  expect(await taskOf(runId, 'work')).toMatchObject({ counted: 2, forgiven: 0 })
})

test('a step that waits for a connection while it holds the only one itself has used up its attempts', async () => {
  const flow = new Flow({ slug: 'starvesItself', timeout: 1, maxAttempts: 2, baseDelay: 0 }).step(
    { slug: 'work' },
    async (_input, ctx) => {
      await ctx.sql.reserve()
      await ctx.sql.reserve()
    },
  )
  const worker = workerFunctionOn(url, flow, { maxPgConnections: 2 })
  running.push(worker)
  await worker.ask()
  const runId = await start(flow)
  await until(async () => (await taskOf(runId, 'work')).status === 'failed')
  expect(await taskOf(runId, 'work')).toMatchObject({ counted: 2, forgiven: 0 })
})
