import { randomUUID } from 'node:crypto'
import { openDatabase, parseDatabaseUrl } from '@starflow/core'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { PostgresMirrorSource, PostgresWarmTier } from '../../src/adapters/supabase/index.ts'
import type { MirrorEvent } from '../../src/mirror/mirror-events.ts'
import type { MirrorChange } from '../../src/mirror/mirror-source.ts'
import { OutboxDrainer } from '../../src/mirror/outbox-drainer.ts'
import { start } from '../conformance/run-fixture.ts'
import { deferred } from '../support/deferred.ts'
import { EventLog } from '../support/event-log.ts'
import { MemoryWarmTier } from '../support/memory-warm-tier.ts'
import { supabaseStores } from '../support/supabase-stores.ts'

const database = await testDatabase()
const stores = await supabaseStores(database)
const open = () =>
  new PostgresMirrorSource(
    openDatabase(parseDatabaseUrl(database.url), { applicationName: 'starflow mirror', connections: 3 }),
  )
const sources = [open(), open()] as const
afterAll(() => Promise.all(sources.map((source) => source.close())))
const [one, other] = sources
const LIMIT = { runs: 50, changes: 500 }
const none = async () => []

let store: Awaited<ReturnType<typeof stores.open>>
beforeEach(async () => {
  store = await stores.open()
  await database.sql`select starflow.set_mirroring(true)`
})
afterEach(() => store.close())

/** A run with some events; returns its id. */
async function writeRun(events = 3): Promise<string> {
  const runId = randomUUID()
  await store.adapter.onRunStart(runId, start())
  for (let index = 1; index < events; index++) await store.adapter.recordPhaseIfChanged(runId, `phase ${index}`)
  return runId
}

const unapplied = async () =>
  (
    await database.sql<{ count: number }[]>`
    select count(*)::int as count from starflow.mirror_outbox where applied_at is null`
  )[0]!.count
const ofRun = (changes: readonly MirrorChange[], runId: string) => changes.filter((change) => change.runId === runId)

test('changes are handed over in the order of each run, and not again once they are applied', async () => {
  const runs = [await writeRun(), await writeRun()]
  const applied = await one.drain(LIMIT, none)
  for (const runId of runs) {
    const ids = ofRun(applied, runId).map(({ id }) => Number(id))
    expect(ids.length).toBeGreaterThan(3)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
  }
  expect(await one.drain(LIMIT, none)).toEqual([])
  expect(await unapplied()).toBe(0)
})

test('what the warm tier does not take stays in the outbox, whole and in order', async () => {
  await writeRun()
  const before = await unapplied()
  await expect(
    one.drain(LIMIT, async (): Promise<never> => {
      throw new Error('down')
    }),
  ).rejects.toThrow('down')
  expect(await unapplied()).toBe(before)
  expect(await one.drain(LIMIT, none)).toHaveLength(before)
})

test('what takes longer than a drainer that hangs is waited for is applied all the same, as long as the drainer lives', async () => {
  const patient = new PostgresMirrorSource(
    openDatabase(parseDatabaseUrl(database.url), { applicationName: 'patient mirror', connections: 3 }),
    200,
  )
  await writeRun()
  const applied = await patient.drain(LIMIT, async () => {
    const old = () => database.sql`
      select from pg_stat_activity
      where application_name = 'patient mirror' and clock_timestamp() - xact_start > interval '1 second'`
    await expect.poll(async () => (await old()).length).toBe(1)
    return []
  })
  expect(applied.length).toBeGreaterThan(0)
  expect(await unapplied()).toBe(0)
  await patient.close()
})

test('a run that one drainer has taken is left alone by the other, with all that comes to it meanwhile', async () => {
  const [taken, free] = [await writeRun(), randomUUID()]
  const [reached, release] = [deferred(), deferred()]
  const first = one.drain(LIMIT, async () => {
    reached.resolve()
    await release.promise
    return []
  })
  await reached.promise
  await store.adapter.recordPhaseIfChanged(taken, 'meanwhile')
  await store.adapter.onRunStart(free, start())
  const second = await other.drain(LIMIT, none)
  expect(new Set(second.map(({ runId }) => runId))).toEqual(new Set([free]))
  release.resolve()
  await first
  const rest = await other.drain(LIMIT, none)
  expect(new Set(rest.map(({ runId }) => runId))).toEqual(new Set([taken]))
})

test('what a drainer had taken when it was killed is applied by another one, and nothing is lost or repeated', async () => {
  const warm = new MemoryWarmTier()
  const runs = [await writeRun(), await writeRun()]
  const all = await unapplied()
  const reached = deferred()
  const killed = one.drain(LIMIT, async (changes) => {
    // It brings the first half, and dies before it can say so.
    await warm.apply(changes.slice(0, Math.floor(changes.length / 2)))
    reached.resolve()
    return await new Promise<never>(() => {})
  })
  await reached.promise
  expect(await other.drain(LIMIT, none)).toEqual([])
  const death = killed.catch((error: unknown) => error)
  await database.as('supabase_admin')`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${database.name} and application_name = 'starflow mirror' and state = 'idle in transaction'`
  expect(await death).toBeInstanceOf(Error)
  let found: readonly MirrorChange[] = []
  const apply = async (changes: readonly MirrorChange[]) => {
    await warm.apply(changes)
    return []
  }
  while (found.length === 0) found = await other.drain(LIMIT, apply)
  expect(found).toHaveLength(all)
  expect(warm.applied.map(({ id }) => id).sort()).toEqual(found.map(({ id }) => id).sort())
  expect(new Set(found.map(({ runId }) => runId))).toEqual(new Set(runs))
})

test('two drainers under writes bring each change once, in the order of each run', async () => {
  const [warm, log] = [new MemoryWarmTier(), new EventLog<MirrorEvent>()]
  const drainers = sources.map((source) => new OutboxDrainer({ source, warm, onEvent: log.record, intervalMs: 5 }))
  for (const drainer of drainers) drainer.start()
  const runs = await Promise.all(Array.from({ length: 8 }, () => writeRun(6)))
  while ((await unapplied()) > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  for (const drainer of drainers) await drainer.stop()
  for (const runId of runs) {
    const written = await database.sql<{ id: string }[]>`
      select o.id::text from starflow.mirror_outbox o where o.run_id = ${runId} order by o.id`
    expect(ofRun(warm.applied, runId).map(({ id }) => id)).toEqual(written.map(({ id }) => id))
  }
  expect(log.events).toEqual([])
})

test('a whole batch is not the end: what fits into none is drained at once', async () => {
  const [warm, log] = [new MemoryWarmTier(), new EventLog<MirrorEvent>()]
  const runId = await writeRun()
  await database.sql`
    insert into starflow.mirror_outbox (run_id, kind, payload)
    select ${runId}, 'event', jsonb_build_object('event_type', 'phase', 'node_id', null) from generate_series(1, 1200)`
  // One interval is longer than the test.
  const drainer = new OutboxDrainer({ source: one, warm, onEvent: log.record, intervalMs: 600_000 })
  drainer.start()
  while ((await unapplied()) > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  await drainer.stop()
  expect(warm.applied.length).toBeGreaterThan(1200)
})

test('changes that were applied an hour ago are deleted, and younger ones and unapplied ones are kept', async () => {
  await writeRun()
  await one.drain(LIMIT, none)
  const rows = async () => (await database.sql`select from starflow.mirror_outbox`).length
  const applied = await rows()
  await store.advance(3_599_000)
  await writeRun()
  expect(await one.prune(3_600_000)).toBe(0)
  await store.advance(2000)
  expect(await one.prune(3_600_000)).toBe(applied)
  expect(await rows()).toBe(await unapplied())
})

test('a write that the warm tier refuses is set aside with its reason, and all others get there, its own run included', async () => {
  const [warm, log] = [new PostgresWarmTier(stores.gateway), new EventLog<MirrorEvent>()]
  const runs = [await writeRun(), await writeRun(), await writeRun()]
  // Without a workspace, which the warm tier needs: a later run's writes lie behind it, and later ones of its own.
  const [poisoned] = await database.sql<{ id: string }[]>`
    insert into starflow.mirror_outbox (run_id, kind, payload) values (${runs[1]!}, 'run', '{"status": "running"}') returning id::text`
  await store.adapter.recordPhaseIfChanged(runs[1]!, 'after the poison')
  await store.adapter.recordPhaseIfChanged(runs[2]!, 'after the poison')
  const drainer = new OutboxDrainer({ source: one, warm, onEvent: log.record, intervalMs: 600_000 })
  drainer.start()
  expect(await log.seen('mirror.refused')).toMatchObject({
    ...{ level: 'error', outboxId: poisoned!.id, runId: runs[1], kind: 'run', sqlState: '23502' },
  })
  while ((await unapplied()) > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  await drainer.stop()
  expect((await warm.readRuns(runs)).map(({ runId, run }) => [runId, run.phase]).toSorted()).toEqual(
    [
      [runs[0], 'phase 2'],
      [runs[1], 'after the poison'],
      [runs[2], 'after the poison'],
    ].toSorted(),
  )
  expect(await one.refused(10)).toMatchObject([
    { id: poisoned!.id, runId: runs[1], kind: 'run', reason: expect.stringContaining('23502') },
  ])
  await store.advance(6 * 24 * 3_600_000)
  await one.prune(0)
  expect(await one.refused(10)).toHaveLength(1)
  await store.advance(2 * 24 * 3_600_000)
  await one.prune(0)
  expect(await one.refused(10)).toEqual([])
})

test('a warm tier that is away refuses nothing', async () => {
  const [warm, log] = [new MemoryWarmTier(), new EventLog<MirrorEvent>()]
  warm.isDown = true
  await writeRun()
  const drainer = new OutboxDrainer({ source: one, warm, onEvent: log.record, intervalMs: 5 })
  drainer.start()
  await log.seen('mirror.drain_failed', 2)
  await drainer.stop()
  expect(await one.refused(10)).toEqual([])
  expect(await unapplied()).toBeGreaterThan(0)
})
