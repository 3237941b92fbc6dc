import { randomUUID } from 'node:crypto'
import { openDatabase, parseDatabaseUrl } from '@starflow/core'
import { Flow, type RunnerContext } from '@starflow/dsl'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { PostgresMirrorSource, PostgresWarmTier } from '../../src/adapters/supabase/index.ts'
import { Engine } from '../../src/engine/engine.ts'
import { LagWatch } from '../../src/mirror/lag-watch.ts'
import type { MirrorEvent } from '../../src/mirror/mirror-events.ts'
import { MirrorSweep } from '../../src/mirror/mirror-sweep.ts'
import { type MirrorableAdapter, openMirroring } from '../../src/mirror/mirroring-state-adapter.ts'
import { OutboxDrainer } from '../../src/mirror/outbox-drainer.ts'
import { AUTHORITY, type Operation } from '../../src/mirror/reads.ts'
import type { WarmTier } from '../../src/mirror/warm-tier.ts'
import { Runner } from '../../src/runner/runner.ts'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { deferred } from '../support/deferred.ts'
import { EventLog } from '../support/event-log.ts'
import { MemoryWarmTier } from '../support/memory-warm-tier.ts'
import { supabaseStores } from '../support/supabase-stores.ts'
import { approval, waitHost } from '../support/waiting-flow.ts'

const database = await testDatabase()
const stores = await supabaseStores(database)
const source = new PostgresMirrorSource(
  openDatabase(parseDatabaseUrl(database.url), { applicationName: 'starflow mirror', connections: 3 }),
)
afterAll(() => source.close())

let store: Awaited<ReturnType<typeof stores.open>>
const services: { stop(): Promise<void> }[] = []
const log = () => new EventLog<MirrorEvent>()
beforeEach(async () => {
  store = await stores.open()
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop()
  await store.close()
})

const mirroring = async (warm: WarmTier, failures: unknown[] = []): Promise<QueueingStateAdapter> =>
  await openMirroring(store.adapter as MirrorableAdapter, { warm, onProgressFailure: (error) => failures.push(error) })

function started<T extends { start(): void; stop(): Promise<void> }>(service: T): T {
  service.start()
  services.push(service)
  return service
}

/** Asks until it is so. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}
const drained = () =>
  until(async () => (await source.lag({ warnMs: 2000, pageMs: 30_000 })).oldestMs === 0 && (await pending()) === 0)
const pending = async () =>
  (
    await database.sql<{ n: number }[]>`select count(*)::int as n from starflow.mirror_outbox where applied_at is null`
  )[0]!.n

/** Two steps, which say how far they are. */
const reporting = new Flow<number, RunnerContext>({ slug: 'reportingV1' })
  .step({ slug: 'first' }, async (n, ctx) => {
    await ctx.phase('begun')
    await ctx.progress({ done: n })
    return n
  })
  .step({ slug: 'second', dependsOn: ['first'] }, ({ first }) => first + 1)

describe('progress of a step', () => {
  test('goes to the warm tier only: the cold one has no trace of it', async () => {
    const sent: unknown[] = []
    const warm = new MemoryWarmTier()
    warm.reportProgress = async (...args) => void sent.push(args)
    const adapter = await mirroring(warm)
    const { runId } = await new Engine({ adapter }).run(reporting, 7)
    expect(sent).toEqual([[runId, 'first', { done: 7 }]])
    const rows = await database.sql`
      select to_jsonb(e) as row from starflow.workflow_run_events e union all select to_jsonb(o) from starflow.mirror_outbox o`
    expect(JSON.stringify(rows)).not.toContain('done')
  })

  test('that is reported faster than it can be sent waits for nobody, and the newest value comes last', async () => {
    const sent: unknown[] = []
    const slow = deferred()
    const warm = new MemoryWarmTier()
    warm.reportProgress = async (_runId, _nodeId, value) => {
      sent.push(value)
      await slow.promise
    }
    const adapter = await mirroring(warm)
    for (let value = 1; value <= 1000; value++) await adapter.onStepProgress('run', 'node', value)
    slow.resolve()
    await adapter.close()
    expect(sent).toEqual([1, 1000])
  })
})

describe('while the warm tier is down', () => {
  test('runs complete, the lag rises over the warning to the page, and heals when the tier is back', async () => {
    const [warm, events, failures] = [new MemoryWarmTier(), log(), [] as unknown[]]
    warm.isDown = true
    const adapter = await mirroring(warm, failures)
    const runId = (await new Engine({ adapter }).run(reporting, 1)).runId
    expect(await store.adapter.readRun(runId)).toMatchObject({ status: 'success', output: { second: 2 } })
    expect(failures).toHaveLength(1)

    started(new LagWatch({ source, warm, onEvent: events.record, intervalMs: 5 }))
    started(new OutboxDrainer({ source, warm, onEvent: events.record, intervalMs: 5 }))
    await events.seen('mirror.drain_failed')
    await store.advance(2500)
    expect(await events.seen('mirror.lag')).toMatchObject({ level: 'warn', lagLevel: 'warn', overdue: 0 })
    // A minute without the warm tier.
    await store.advance(57_500)
    const paged = await events.seen('mirror.lag', 2)
    expect(paged).toMatchObject({ level: 'error', lagLevel: 'page', late: 0, fresh: 0, overdue: await pending() })
    expect(await store.adapter.readRun((await new Engine({ adapter }).run(reporting, 2)).runId)).toMatchObject({
      status: 'success',
    })

    warm.isDown = false
    expect(await events.seen('mirror.lag', 3)).toMatchObject({ level: 'info', lagLevel: 'ok', overdue: 0 })
    await drained()
    expect((await warm.readRuns([runId]))[0]?.run.status).toBe('success')
  })
})

test('a warm tier that never answers hides no lag', async () => {
  const [warm, events] = [new MemoryWarmTier(), log()]
  const adapter = await mirroring(warm)
  warm.advance = () => new Promise(() => {})
  started(new LagWatch({ source, warm, onEvent: events.record, intervalMs: 5, patienceMs: 50 }))
  await events.seen('mirror.lag_failed')
  await new Engine({ adapter }).run(reporting, 1)
  await store.advance(2500)
  expect(await events.seen('mirror.lag')).toMatchObject({ lagLevel: 'warn' })
})

describe('the sweep', () => {
  const warm = new PostgresWarmTier(stores.gateway)
  const sweep = async () => {
    const events = log()
    const service = new MirrorSweep({ source, warm, onEvent: events.record, intervalMs: 600_000 })
    service.start()
    await service.stop()
    return events.events
  }
  const drain = async () => {
    while (
      (
        await source.drain({ runs: 50, changes: 500 }, async (changes) => {
          await warm.apply(changes)
          return []
        })
      ).length > 0
    );
  }
  /** A run that waits for days: no end of it will ever compare its two sides. */
  async function pausedRun(): Promise<string> {
    await database.sql`truncate starflow.warm_runs`
    const adapter = await mirroring(warm)
    const { runId, end } = await new Engine({ adapter, waitHost: waitHost() }).run(approval, { text: 'hello' })
    expect(end).toBe('paused')
    await drain()
    return runId
  }
  const status = async (runId: string) => (await warm.readRuns([runId]))[0]?.run.status

  test('changes nothing where the two tiers agree', async () => {
    const runId = await pausedRun()
    expect(await sweep()).toEqual([])
    expect(await status(runId)).toBe('paused')
  })

  test('heals a row that has diverged, also of a run that is paused for days', async () => {
    const runId = await pausedRun()
    await store.advance(3 * 24 * 3_600_000)
    await database.sql`update starflow.warm_runs set run = run || '{"status": "running"}', active_nodes = '{"ghost": {}}'`
    expect(await sweep()).toMatchObject([{ event: 'mirror.healed', by: 'sweep', runs: 1 }])
    expect(await status(runId)).toBe('paused')
    expect(await sweep()).toEqual([])
  })

  test('fills a tier that has lost everything, and takes out what is in no cold tier', async () => {
    const runId = await pausedRun()
    await database.sql`update starflow.warm_runs set run_id = gen_random_uuid()`
    expect(await sweep()).toMatchObject([{ event: 'mirror.healed', runs: 2 }])
    expect([...(await warm.openRuns())]).toEqual([runId])
    expect(await status(runId)).toBe('paused')
  })

  test('finds nothing to heal in a run that was cancelled in the middle of a node and queued again', async () => {
    await database.sql`truncate starflow.warm_runs`
    const adapter = await mirroring(warm)
    const runId = randomUUID()
    const start = { templateId: 'reportingV1', workspaceId: 'acme', env: 'prod', input: 1, definitionId: null }
    await adapter.onRunStart(runId, start)
    const claim = await adapter.writeLease(runId, 'runner', 30_000)
    await adapter.bind(claim).onNodeStart(runId, 'first', { attempt: 1 })
    await adapter.cancelRun(runId, 'changed my mind')
    expect(await adapter.retryRun(runId)).toBe(true)
    await drain()
    expect(await sweep()).toEqual([])
    expect((await warm.readRuns([runId]))[0]).toMatchObject({ activeNodes: {} })
  })

  test('leaves a run to the changes that are on their way', async () => {
    const runId = await pausedRun()
    await store.adapter.cancelRun(runId, 'changed my mind')
    expect(await sweep()).toEqual([])
    expect(await status(runId)).toBe('paused')
    await drain()
    expect(await status(runId)).toBe('cancelled')
  })
})

test('at the end of a run its two sides are compared, and what differs is healed', async () => {
  const [warm, events] = [new MemoryWarmTier(), log()]
  const adapter = await mirroring(warm)
  const { runId } = await new Engine({ adapter }).run(reporting, 1)
  // The outbox misses the last word of the run: the columns that the end wrote.
  await database.sql`
    update starflow.mirror_outbox set payload = payload || '{"phase": "wrong"}' where kind = 'run' and run_id = ${runId}`
  started(new OutboxDrainer({ source, warm, onEvent: events.record, intervalMs: 5 }))
  expect(await events.seen('mirror.healed')).toMatchObject({ by: 'run_end', runs: 1 })
  expect((await warm.readRuns([runId]))[0]?.run).toMatchObject({ status: 'success', phase: 'begun' })
})

describe('the authority table', () => {
  /** A run that is paused, and a warm tier that says something else of it. */
  async function lied() {
    const warm = new MemoryWarmTier()
    const adapter = await mirroring(warm)
    const host = waitHost()
    const { runId } = await new Engine({ adapter, waitHost: host }).run(approval, { text: 'hello' })
    await source.drain({ runs: 50, changes: 500 }, async (changes) => {
      await warm.apply(changes)
      return []
    })
    const live = warm.runs.get(runId)!
    warm.runs.set(runId, { ...live, run: { ...live.run, status: 'running', claim_state: 'running', phase: 'a lie' } })
    await warm.advance('2026-11-29T12:00:00+00:00', { isFilled: true })
    return { warm, adapter, runId, host }
  }

  type Observed = 'cold' | 'warm'
  const observe: Readonly<Record<Operation, () => Promise<Observed>>> = {
    resumeRun: async () => {
      const { adapter, runId } = await lied()
      expect(await adapter.resumeWait(runId, 'approve', { approved: true })).toBe('accepted')
      const events = new EventLog<{ readonly event: string }>()
      const runner = new Runner([approval], {
        adapter,
        waitHost: waitHost(),
        onEvent: events.record,
        claimIntervalMs: 20,
      })
      started({ start: () => void runner.start(), stop: () => runner.stop() })
      await events.seen('run.ended')
      return (await adapter.readRun(runId))?.status === 'success' ? 'cold' : 'warm'
    },
    reconcileRuns: async () => {
      const { adapter, runId } = await lied()
      await store.advance(3_600_000)
      // It is paused and holds no lease; only by the lie it would be a lost runner's.
      const swept = await adapter.expireOldLeases({ ttlMs: 30_000, maxLosses: 3, reason: 'runner_lost' })
      return swept.some((run) => run.runId === runId && run.outcome !== 'wait_over') ? 'warm' : 'cold'
    },
    listRuns: async () => {
      const { adapter } = await lied()
      return (await adapter.listRuns({ limit: 10 })).runs[0]?.status === 'paused' ? 'cold' : 'warm'
    },
    showRun: async () => {
      const { adapter, runId } = await lied()
      return (await adapter.readRun(runId))?.status === 'paused' ? 'cold' : 'warm'
    },
    auditRun: async () => {
      const { adapter, runId } = await lied()
      return (await adapter.readEvents(runId)).some(({ type }) => type === 'run_paused') ? 'cold' : 'warm'
    },
    liveStatus: async () => {
      const { warm, runId } = await lied()
      expect(await warm.asOf()).toBe('2026-11-29T12:00:00+00:00')
      return (await warm.readRuns([runId]))[0]?.run.phase === 'a lie' ? 'warm' : 'cold'
    },
    discoverPeers: async () => {
      const { warm } = await lied()
      expect(await warm.asOf()).toBe('2026-11-29T12:00:00+00:00')
      return (await warm.listPeers({ limit: 10 }))[0]?.run.phase === 'a lie' ? 'warm' : 'cold'
    },
    reportProgress: async () => {
      const { warm, adapter, runId } = await lied()
      const live = warm.runs.get(runId)!
      warm.runs.set(runId, { ...live, activeNodes: { approve: { attempt: 1, since: '2026-11-29T12:00:00+00:00' } } })
      await adapter.onStepProgress(runId, 'approve', 50)
      return (await warm.readRuns([runId]))[0]?.progress.approve?.value === 50 ? 'warm' : 'cold'
    },
  }

  test.each(Object.entries(AUTHORITY))('%s reads from where its row says', async (operation, { read }) => {
    expect(await observe[operation as Operation]()).toBe(read)
  })
})

test('a tier that a crash has emptied knows nothing until the sweep has filled it, and then everything up to its instant', async () => {
  const warm = new PostgresWarmTier(stores.gateway)
  const adapter = await mirroring(warm)
  const runIds: string[] = []
  for (const _ of [1, 2]) {
    const { runId } = await new Engine({ adapter, waitHost: waitHost() }).run(approval, { text: 'hello' })
    runIds.push(runId)
  }
  const seen = log()
  const drainer = new OutboxDrainer({ source, warm, onEvent: seen.record, intervalMs: 5 })
  started(drainer)
  await drained()
  await drainer.stop()
  // What a crash does to unlogged tables.
  await database.sql`truncate starflow.warm_runs, starflow.warm_step_progress, starflow.warm_watermark`
  // A write of one of the runs is on its way: the sweep leaves that run to it.
  await adapter.cancelRun(runIds[0]!, 'no longer needed')
  const empties: number[] = []
  const sweep = new MirrorSweep({ source, warm, onEvent: seen.record, intervalMs: 600_000 })
  const watch = new LagWatch({ source, warm, onEvent: seen.record, intervalMs: 10, onEmpty: () => empties.push(1) })
  started(watch)
  started(sweep)
  await until(async () => (await warm.readRuns(runIds)).length === 1 && empties.length > 2)
  expect(await warm.asOf()).toBeNull()
  const before = new Date().toISOString()
  const again = new OutboxDrainer({ source, warm, onEvent: seen.record, intervalMs: 5 })
  started(again)
  await drained()
  sweep.wake()
  await until(async () => (await warm.asOf()) !== null)
  expect((await warm.readRuns(runIds)).map(({ runId }) => runId).toSorted()).toEqual(runIds.toSorted())
  await until(async () => Date.parse((await warm.asOf())!) > Date.parse(before))
})
