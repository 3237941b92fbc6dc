import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)
await core.ensureFlowCompiled({ flowSlug: 'idle', shape: shape({ a: {} }), queueMode: 'flow', routeMap: null })

/** A worker whose last sign of life is so many seconds old. */
async function workerOfAge(seconds: number): Promise<string> {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName: 'idle', functionName: `fn_${workerId}` })
  await sql`update pgflow.workers set last_heartbeat_at = last_heartbeat_at - make_interval(secs => ${seconds})
    where worker_id = ${workerId}`
  return workerId
}

const claim = (workerId: string, client = sql) =>
  client`select * from pgflow.settle_and_claim(${workerId}, '[]', 'idle', 'idle', 1)`

const ageOf = async (workerId: string) =>
  (
    await sql<{ age: number }[]>`
      select extract(epoch from clock_timestamp() - last_heartbeat_at)::float as age
      from pgflow.workers where worker_id = ${workerId}`
  )[0]!.age

test('a claim is a sign of life once the last one is 3 s old', async () => {
  const workerId = await workerOfAge(5)
  await claim(workerId)
  expect(await ageOf(workerId)).toBeLessThan(3)
})

test('a claim writes nothing to the worker while its last sign of life is younger', async () => {
  const workerId = await workerOfAge(1)
  const version = () => sql`select xmin::text from pgflow.workers where worker_id = ${workerId}`
  const before = await version()
  await claim(workerId)
  expect(await version()).toEqual(before)
})

test('a claim that gives nothing, because the worker is deprecated, is no sign of life', async () => {
  const workerId = await workerOfAge(60)
  await core.deprecateWorker(workerId)
  await claim(workerId)
  expect(await ageOf(workerId)).toBeGreaterThan(59)
})

test('a claim does not wait for a worker’s row that somebody else has locked', async () => {
  const workerId = await workerOfAge(60)
  const other = database.connect()
  const impatient = database.connect({ settings: { lock_timeout: '100ms' } })
  await other.begin(async (transaction) => {
    await transaction`select from pgflow.workers where worker_id = ${workerId} for update`
    await claim(workerId, impatient)
  })
  await Promise.all([other.end(), impatient.end()])
  expect(await ageOf(workerId)).toBeGreaterThan(59)
})

test('a sign of life from before the clock was set back counts as none, and the next claim takes its place', async () => {
  const workerId = await workerOfAge(-600)
  const isLive = async () =>
    (
      await sql<
        { live: boolean }[]
      >`select pgflow._heartbeat_is_fresh(w) as live from pgflow.workers w where w.worker_id = ${workerId}`
    )[0]!.live
  expect(await isLive()).toBe(false)
  await claim(workerId)
  expect(await ageOf(workerId)).toBeGreaterThanOrEqual(0)
  expect(await isLive()).toBe(true)
})

test('a function whose last ping and workers are from before the clock was set back is pinged', async () => {
  await workerOfAge(-600)
  const [{ name }] = await sql<[{ name: string }]>`
    update pgflow.worker_functions f set last_invoked_at = now() + interval '10 minutes', start_mode = 'http'
    from pgflow.workers w where w.function_name = f.function_name and w.last_heartbeat_at > now() + interval '5 minutes'
    returning f.function_name as name`
  const due = await sql<{ name: string }[]>`
    select ((p.worker_function).function_name) as name from pgflow._functions_to_ping(false) p`
  expect(due.map((row) => row.name)).toContain(name)
})
