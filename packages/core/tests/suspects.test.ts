import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { shape } from './support/shape.ts'

const { sql } = await testDatabase()
const core = new StarflowSql(sql)

let count = 0
const compile = (options = {}) =>
  CompiledFlow.compileShape(sql, `suspect${++count}`, shape({ a: { timeout: 10 } }, { baseDelay: 0, ...options }))

const ageAll = (runIds: readonly string[]) => sql`
  update pgflow.step_tasks set queued_at = queued_at - interval '1 hour', started_at = started_at - interval '1 hour'
  where run_id in ${sql([...runIds])} and status = 'started'`

/** A worker claims these runs' tasks and is never heard of again; they are recovered in one pass. */
async function vanish(flow: CompiledFlow, runIds: readonly string[], workerId: string): Promise<number> {
  await flow.claim('a', 100, workerId)
  await ageAll(runIds)
  await flow.reveal('a')
  return await core.requeueStalledTasks()
}

const budgets = (runIds: readonly string[]) => sql`
  select status, attempts_count, attempts_forgiven, requeued_count from pgflow.step_tasks where run_id in ${sql([...runIds])}`

test('tasks whose worker vanished with all of them lose no attempt, not even their last, and are met as suspects', async () => {
  const flow = await compile({ maxAttempts: 2 })
  const runIds = await flow.start({}, {}, {})
  await sql`update pgflow.step_tasks set attempts_count = 1 where run_id = ${runIds[0]!}`
  expect(await vanish(flow, runIds, flow.workerId)).toBe(3)
  expect((await budgets(runIds)).map((task) => task.attempts_forgiven)).toEqual([1, 1, 1])
  const call = { workerId: flow.workerId, reports: [], queueName: flow.queue('a'), flowSlug: flow.slug, stepSlug: 'a' }
  const claim = (alone: boolean) => core.settleAndClaim({ ...call, qty: 10, onUnsupported: 'skip', alone })
  const [fresh] = await flow.start({})
  expect(await claim(false)).toMatchObject({ claimed: [{ runId: fresh }], suspects: 3 })
  // In sight at once, for a worker that holds nothing; one at a time.
  for (let left = 3; left > 0; left--) expect((await claim(true)).claimed).toHaveLength(1)
  expect(await claim(true)).toMatchObject({ claimed: [], suspects: 0 })
})

test('so are those of the other workers of one process, and those that are found by several passes', async () => {
  const [flow, other] = [await compile({ maxAttempts: 2 }), await compile({ maxAttempts: 2 })]
  const [executionId, workers] = [randomUUID(), [randomUUID(), randomUUID()] as const]
  for (const [index, each] of [flow, other].entries()) {
    const functionName = `fn-${workers[index]}`
    await core.registerWorker({ workerId: workers[index]!, queueName: each.queue('a'), functionName, executionId })
  }
  const [first] = await flow.start({})
  const [second] = await other.start({})
  await other.claim('a', 1, workers[1])
  expect(await vanish(flow, [first!], workers[0])).toBe(1)
  await ageAll([second!])
  await other.reveal('a')
  expect(await core.requeueStalledTasks()).toBe(1)
  expect(await budgets([first!, second!])).toMatchObject([{ attempts_forgiven: 1 }, { attempts_forgiven: 1 }])
})

test('one that has found no worker with nothing else to do for ten minutes is taken like any other', async () => {
  const flow = await compile({ maxAttempts: 2 })
  const runIds = await flow.start({}, {})
  await vanish(flow, runIds, flow.workerId)
  const call = { workerId: flow.workerId, reports: [], queueName: flow.queue('a'), flowSlug: flow.slug, stepSlug: 'a' }
  const claim = () => core.settleAndClaim({ ...call, qty: 10, onUnsupported: 'skip', alone: false })
  const wait = (minutes: number, runId: string) => sql`
    update pgflow.step_tasks set last_requeued_at = last_requeued_at - make_interval(mins => ${minutes}) where run_id = ${runId}`
  await wait(9, runIds[0]!)
  await wait(11, runIds[1]!)
  expect(await claim()).toMatchObject({ claimed: [{ runId: runIds[1] }], suspects: 1 })
})

test('one that stalls alone uses up its attempts, and its error says that its worker vanished while it ran it alone', async () => {
  const flow = await compile({ maxAttempts: 2 })
  const runIds = await flow.start({}, {})
  await vanish(flow, runIds, flow.workerId)
  await sql`update pgflow.step_tasks set status = 'completed', completed_at = now(), output = '1' where run_id = ${runIds[1]!}`
  const requeued: number[] = []
  for (let pass = 0; pass < 2; pass++) {
    const workerId = await flow.register(randomUUID())
    requeued.push(await vanish(flow, [runIds[0]!], workerId))
  }
  expect(requeued).toEqual([1, 0])
  expect(await flow.tasks(runIds[0]!)).toMatchObject([
    {
      status: 'failed',
      attempts_count: 3,
      error_message: expect.stringMatching(
        /^Stalled: no report came back in 2 attempts, .* Its worker vanished while it ran this task alone$/,
      ),
    },
  ])
})

test('a task with one attempt never runs twice, whoever stalled beside it', async () => {
  const flow = await compile({ maxAttempts: 1 })
  const runIds = await flow.start({}, {})
  expect(await vanish(flow, runIds, flow.workerId)).toBe(0)
  expect(await budgets(runIds)).toMatchObject([{ status: 'failed' }, { status: 'failed' }])
})

test('none is put back more often than max_requeues, however often it stalls beside others', async () => {
  const flow = await compile({ maxAttempts: 2 })
  const runIds = await flow.start({}, {})
  const requeued: number[] = []
  for (let pass = 0; pass < 4; pass++) requeued.push(await vanish(flow, runIds, await flow.register(randomUUID())))
  expect(requeued).toEqual([2, 2, 2, 0])
})
