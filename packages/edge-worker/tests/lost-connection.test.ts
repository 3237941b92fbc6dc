import { StarflowSql } from '@starflow/core'
import { Flow } from '@starflow/dsl'
import { afterAll, afterEach, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type RunningFunction, workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
const proxy = await flakyProxy(url)
afterAll(() => proxy.close())

const running: RunningFunction[] = []
afterEach(async () => {
  proxy.restore()
  await Promise.all(running.splice(0).map((workerFunction) => workerFunction.stop()))
})

function workerOn(...[flow, options]: [Flow, Parameters<typeof workerFunctionOn>[2]?]): RunningFunction {
  const worker = workerFunctionOn(proxy.url, flow, options)
  running.push(worker)
  return worker
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

const row = async (workerId: unknown) =>
  (
    await sql<{ stopped: boolean; heartbeat: string }[]>`
      select stopped_at is not null as stopped, last_heartbeat_at::text as heartbeat
      from pgflow.workers where worker_id = ${workerId as string}`
  )[0]

async function completed(runId: string): Promise<void> {
  await until(async () => {
    const [run] = await sql<{ status: string }[]>`select status from pgflow.runs where run_id = ${runId}`
    return run?.status === 'completed'
  })
}

test('a worker whose connection is reset while it says farewell has said it all the same', async () => {
  const worker = workerOn(new Flow({ slug: 'farewell' }).step({ slug: 'work' }, () => 1))
  const { workerId } = await worker.ask()
  proxy.resetAt('settle_and_claim')
  await worker.event('database.failing')
  await worker.stop()
  expect(await row(workerId)).toMatchObject({ stopped: true })
})

test('a start that fails by a reset connection is reported, and leaves no live worker', async () => {
  await core.trackWorkerFunction('reset_start')
  const worker = workerOn(
    new Flow({ slug: 'resetStart' }).step({ slug: 'work' }, () => 1),
    {
      functionName: 'reset_start',
    },
  )
  proxy.resetAt('register_worker')
  expect(await worker.ask()).toMatchObject({ http: 500, status: 'failed' })
  const [reported] = await sql`select failed_starts from pgflow.worker_functions where function_name = 'reset_start'`
  expect(reported).toEqual({ failed_starts: 1 })
  expect(await worker.ask()).toMatchObject({ status: 'started' })
})

test('a worker survives resets of every connection, one after another, and runs each task once', async () => {
  let handled = 0
  const flow = new Flow({ slug: 'resets' }).step({ slug: 'work' }, async () => {
    handled++
    return 1
  })
  const worker = workerOn(flow)
  await worker.ask()
  for (let round = 0; round < 5; round++) {
    const [runId] = await core.startFlows('resets', [{}])
    await completed(runId!)
    proxy.reset()
  }
  expect(handled).toBe(5)
})

test('a handler that asks again after its connection was lost is answered', async () => {
  const flow = new Flow({ slug: 'asksAgain', maxAttempts: 1 }).step({ slug: 'work' }, async (_input, ctx) => {
    await ctx.sql`select 1`
    proxy.resetAt('lost by the test')
    const [row] = await ctx.sql<{ n: number }[]>`select 1 as n, 'lost by the test'`.catch(
      () => ctx.sql<{ n: number }[]>`select 2 as n`,
    )
    return row!.n
  })
  await workerOn(flow).ask()
  const [runId] = await core.startFlows('asksAgain', [{}])
  await completed(runId!)
  const [run] = await sql`select output from pgflow.runs where run_id = ${runId!}`
  expect(run?.output).toEqual({ work: 2 })
})

test('a worker whose connections fall silent claims again within its limit, and says so', async () => {
  const flow = new Flow({ slug: 'silent' }).step({ slug: 'work' }, () => 1)
  const worker = workerOn(flow, { callTimeoutMs: 1_000 })
  await worker.ask()
  proxy.freeze()
  const [runId] = await core.startFlows('silent', [{}])
  await worker.event('database.timeout')
  await completed(runId!)
})
