import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { shape } from './support/shape.ts'

const { sql } = await testDatabase()
const core = new StarflowSql(sql)

const silentFor = (workerId: string, ago: string) =>
  sql`update pgflow.workers set last_heartbeat_at = now() - ${ago}::interval where worker_id = ${workerId}`
const worker = async (silence: string, startMode: 'http' | 'process' = 'http') => {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName: startMode, functionName: startMode, startMode })
  await silentFor(workerId, silence)
  return workerId
}

test('prune_workers deletes workers of a week ago that no task names, and closes silent ones', async () => {
  const flow = await CompiledFlow.compileShape(sql, 'pruned', shape({ a: {} }))
  await flow.start(1)
  await flow.claim('a')
  await silentFor(flow.workerId, '9 days')
  const [old, silent, process, live] = [
    await worker('8 days'),
    await worker('2 hours'),
    await worker('2 hours', 'process'),
    await worker('5 seconds'),
  ]
  expect(await sql`select pgflow.prune_workers() as count`).toEqual([{ count: 1 }])
  const rows = await sql`select worker_id, stopped_at is not null as is_closed from pgflow.workers`
  const closed = new Map(rows.map((row) => [row.worker_id, row.is_closed]))
  expect(closed.has(old)).toBe(false)
  expect([silent, process, live, flow.workerId].map((id) => closed.get(id))).toEqual([true, false, false, true])
  expect(await flow.core.heartbeat(silent)).toBe('deprecated')
})

test('prune_workers keeps a worker that its process has replaced as long as that goes on', async () => {
  const executionId = randomUUID()
  const [replaced, successor] = [randomUUID(), randomUUID()]
  for (const workerId of [replaced, successor])
    await core.registerWorker({ workerId, queueName: 'q', functionName: 'process', startMode: 'process', executionId })
  await silentFor(replaced, '8 days')
  expect(await sql`select pgflow.prune_workers() as count`).toEqual([{ count: 0 }])
  await silentFor(successor, '8 days')
  expect(await sql`select pgflow.prune_workers() as count`).toEqual([{ count: 2 }])
})

test('prune_workers leaves a worker alone whose row somebody holds', async () => {
  const workerId = await worker('8 days')
  await sql.begin(async (tx) => {
    await tx`select from pgflow.workers where worker_id = ${workerId} for key share`
    expect(await sql`select pgflow.prune_workers() as count`).toEqual([{ count: 0 }])
  })
  expect(await sql`select pgflow.prune_workers() as count`).toEqual([{ count: 1 }])
})
