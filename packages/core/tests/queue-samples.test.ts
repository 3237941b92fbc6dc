import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
// One connection: a test sets its clock.
const sql = database.connect()
await sql`select pgflow.set_setting('test_clock', 'on')`
const flow = await CompiledFlow.compileShape(sql, 'sampled', shape({ work: {} }))
const queue = flow.queue('work')
const at = (instant: string) => sql`select set_config('pgflow.test_now', ${instant}, false)`
const history = (points = 500) =>
  sql`select * from starflow.queue_history(${queue}, '2030-01-01T09:00:00Z', '2030-01-01T11:00:00Z', ${points})`

test('a sample tells how full a queue is and how much was done since the one before', async () => {
  await at('2030-01-01T10:00:00Z')
  await flow.start({}, {}, {})
  expect(await sql`select starflow.sample_queues() as count`).toEqual([{ count: 1 }])
  await flow.drain(() => 1)
  await sql`select pg_stat_force_next_flush()`
  await at('2030-01-01T10:01:00Z')
  await sql`select starflow.sample_queues()`
  expect(await history()).toMatchObject([
    { depth: 3, done: null },
    { depth: 0, done: 3, done_per_minute: 3 },
  ])
})

test('the same minute again adds nothing', async () => {
  await sql`select starflow.sample_queues()`
  expect(await history()).toHaveLength(2)
})

test('a long history is thinned, and keeps the largest depth and what was done', async () => {
  const [point, ...others] = await history(1)
  expect(others).toEqual([])
  expect(point).toMatchObject({ depth: 3, done: 3 })
})

test('what is more than a week old is deleted, once an hour', async () => {
  await at('2030-01-08T11:00:00Z')
  await sql`select starflow.sample_queues()`
  expect(await sql`select queue_name, depth from starflow.queue_samples`).toEqual([{ queue_name: queue, depth: 0 }])
})
