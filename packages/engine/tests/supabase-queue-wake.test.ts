import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { openDatabase, parseDatabaseUrl } from '@starflow/core'
import { afterAll, expect, test } from 'vitest'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { SupabaseWorkflowStateAdapter } from '../src/adapters/supabase/index.ts'
import { enqueue, start } from './conformance/run-fixture.ts'

const database = await testDatabase()
const gateway = await restGateway(database, ['public', 'starflow'])
const adapter = SupabaseWorkflowStateAdapter.open({
  ...gateway,
  listenOn: openDatabase(parseDatabaseUrl(database.url), { applicationName: 'starflow queue listener' }),
})
afterAll(() => adapter.close())

/** Listens for a pool; `woken` settles with the next wake. */
async function listener(pool: string | null) {
  const wakes = new EventEmitter()
  let count = 0
  const stop = await adapter.onQueued!(pool, () => {
    count++
    wakes.emit('wake')
  })
  return { stop, count: () => count, woken: () => once(wakes, 'wake', { signal: AbortSignal.timeout(10_000) }) }
}

test('without a direct connection nothing wakes a runner, which asks at its interval', () => {
  expect(SupabaseWorkflowStateAdapter.open(gateway).onQueued).toBeUndefined()
})

test('a runner is woken by runs of its pool and of nobody, not by those of others', async () => {
  const [nobodys, gpu] = [await listener(null), await listener('gpu')]
  const before = nobodys.count()
  const woken = gpu.woken()
  await enqueue(adapter, { runnerPool: 'gpu' })
  await woken
  expect(nobodys.count()).toBe(before)
  const both = Promise.all([nobodys.woken(), gpu.woken()])
  await enqueue(adapter)
  await both
  await nobodys.stop()
  await gpu.stop()
})

test('a resume, a release and a retry wake it too', async () => {
  const runId = randomUUID()
  await adapter.onRunStart(runId, start())
  const heard = await listener(null)
  const bound = adapter.bind(await adapter.writeLease(runId, 'r1', 30_000))
  await bound.onRunPaused(runId, { nodeIds: ['approve'] })
  await bound.openWait(runId, { nodeId: 'approve', timeoutMs: null })
  await bound.clearLease(runId)
  const wakesBy = async (work: () => Promise<unknown>) => {
    const woken = heard.woken()
    await work()
    await woken
  }
  await wakesBy(() => adapter.resumeWait(runId, 'approve', 'yes'))
  const again = adapter.bind(await adapter.writeLease(runId, 'r1', 30_000))
  await wakesBy(() => again.releaseRun(runId, { delayMs: 0, reason: 'drain' }))
  await adapter.cancelRun(runId, 'no')
  await wakesBy(() => adapter.retryRun(runId))
  await heard.stop()
})

test('a connection that was lost is made again, and wakes all: what was queued meanwhile nobody heard', async () => {
  const heard = await listener('gpu')
  const woken = heard.woken()
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'starflow queue listener'`
  await woken
  const next = heard.woken()
  await enqueue(adapter, { runnerPool: 'gpu' })
  await next
  await heard.stop()
})
