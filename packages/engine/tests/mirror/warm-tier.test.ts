import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { restGateway } from '../../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { PostgresWarmTier } from '../../src/adapters/supabase/index.ts'
import type { MirroredRun } from '../../src/mirror/live-run.ts'
import type { MirrorChange } from '../../src/mirror/mirror-source.ts'
import type { WarmTier } from '../../src/mirror/warm-tier.ts'
import { MemoryWarmTier } from '../support/memory-warm-tier.ts'

const database = await testDatabase()
const gateway = await restGateway(database, ['public', 'starflow'])

const AT = '2026-11-29T12:00:00+00:00'
const run = (id: string, more: Partial<MirroredRun> = {}): MirroredRun => ({
  ...{ id, template_id: 'greetV1', workspace_id: 'acme', env: 'prod', status: 'running', claim_state: 'running' },
  ...{ phase: null, leased_by: 'r1' },
  ...more,
})
const runChange = (id: number, runId: string, more: Partial<MirroredRun> = {}): MirrorChange => ({
  ...{ id: String(id), runId, kind: 'run', payload: run(runId, more), createdAt: AT },
})
const eventChange = (id: number, runId: string, type: string, node: string | null): MirrorChange => ({
  ...{ id: String(id), runId, kind: 'event', createdAt: AT },
  payload: { event_type: type, node_id: node, payload_json: { attempt: 1 }, created_at: AT },
})

describe.each([
  ['in memory', () => new MemoryWarmTier()],
  ['in Postgres', () => new PostgresWarmTier(gateway)],
] as const)('a warm tier %s', (_name, open) => {
  let warm: WarmTier
  beforeEach(async () => {
    await database.sql`truncate starflow.warm_runs, starflow.warm_step_progress, starflow.warm_watermark`
    warm = open()
  })
  const [live, id] = [async (runId: string) => (await warm.readRuns([runId]))[0], randomUUID()]

  test('knows which nodes have begun and not ended, and forgets them with the runner or the run', async () => {
    const active = async (...changes: readonly MirrorChange[]) => {
      await warm.apply(changes)
      return Object.keys((await live(id))?.activeNodes ?? {}).sort()
    }
    expect(await active(runChange(1, id), eventChange(2, id, 'node_start', 'a'))).toEqual(['a'])
    expect((await live(id))?.activeNodes).toEqual({ a: { attempt: 1, since: AT } })
    expect(await active(eventChange(3, id, 'node_start', 'b'), eventChange(4, id, 'node_complete', 'a'))).toEqual(['b'])
    expect(await active(eventChange(5, id, 'phase', null))).toEqual(['b'])
    expect(await active(eventChange(6, id, 'runner_lost', null))).toEqual([])
    expect(await active(eventChange(7, id, 'node_start', 'b'))).toEqual(['b'])
    expect(await active(runChange(8, id, { status: 'success', claim_state: 'complete' }))).toEqual([])
  })

  test('learns each change once, and none that is older than what it knows', async () => {
    const changes = [runChange(1, id), eventChange(2, id, 'node_start', 'a'), runChange(3, id, { phase: 'late' })]
    expect(await warm.apply(changes)).toBe(3)
    expect(await warm.apply(changes)).toBe(0)
    expect(await live(id)).toMatchObject({ outboxId: '3', run: { phase: 'late' } })
  })

  test('shows the progress of a node while it is active, also what came before the node was known', async () => {
    await warm.reportProgress(id, 'a', 0.1)
    expect(await live(id)).toBeUndefined()
    await warm.apply([runChange(1, id), eventChange(2, id, 'node_start', 'a')])
    expect((await live(id))?.progress).toMatchObject({ a: { value: 0.1 } })
    await warm.reportProgress(id, 'a', null)
    await warm.reportProgress(id, 'a', { done: 0.5 })
    expect((await live(id))?.progress).toMatchObject({ a: { value: { done: 0.5 }, at: expect.any(String) } })
    await warm.apply([eventChange(3, id, 'node_complete', 'a')])
    expect((await live(id))?.progress).toEqual({})
  })

  test('is corrected where it is still what was compared, and nowhere else', async () => {
    const correction = { runId: id, activeNodes: {} }
    expect(await warm.correct([{ ...correction, run: run(id, { phase: 'seeded' }), outboxId: null }])).toBe(1)
    expect(await live(id)).toMatchObject({ run: { phase: 'seeded' } })
    await warm.apply([runChange(7, id, { phase: 'newer' })])
    expect(await warm.correct([{ ...correction, run: run(id, { phase: 'stale' }), outboxId: '0' }])).toBe(0)
    expect(await warm.correct([{ ...correction, run: null, outboxId: '6' }])).toBe(0)
    expect(await live(id)).toMatchObject({ run: { phase: 'newer' }, outboxId: '7' })
    expect(await warm.correct([{ ...correction, run: run(id, { phase: 'right' }), outboxId: '7' }])).toBe(1)
    expect(await live(id)).toMatchObject({ run: { phase: 'right' }, outboxId: '7' })
    expect(await warm.correct([{ ...correction, run: null, outboxId: '7' }])).toBe(1)
    expect(await live(id)).toBeUndefined()
  })

  test("lists a workspace's runs that are held or paused", async () => {
    const [queued, ended, paused, foreign] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    await warm.apply([
      runChange(1, id),
      runChange(2, queued, { status: 'queued', claim_state: 'queued' }),
      runChange(3, ended, { status: 'success', claim_state: 'complete' }),
      runChange(4, paused, { status: 'paused', claim_state: 'paused' }),
      runChange(5, foreign, { workspace_id: 'other' }),
    ])
    const peers = async (workspaceId?: string) =>
      (await warm.listPeers({ workspaceId, limit: 10 })).map(({ runId }) => runId).sort()
    expect(await peers('acme')).toEqual([id, paused].sort())
    expect(await peers()).toEqual([id, paused, foreign].sort())
    expect(await warm.listPeers({ limit: 1 })).toHaveLength(1)
    expect([...(await warm.openRuns())].sort()).toEqual([id, queued, paused, foreign].sort())
  })

  test('knows up to when it knows everything, and that does not go back', async () => {
    expect(await warm.asOf()).toBeNull()
    expect(await warm.advance('2026-11-29T12:00:00+00:00', { isFilled: true })).toBe(true)
    expect(await warm.advance('2026-11-29T12:00:01+00:00')).toBe(true)
    expect(await warm.advance('2026-11-29T12:00:00+00:00')).toBe(true)
    expect(Date.parse((await warm.asOf()) ?? '')).toBe(Date.parse('2026-11-29T12:00:01Z'))
  })

  test('knows nothing until it has been filled, whatever was applied', async () => {
    expect(await warm.advance('2026-11-29T12:00:00+00:00')).toBe(false)
    await warm.apply([runChange(1, id)])
    expect(await warm.advance('2026-11-29T12:00:01+00:00')).toBe(false)
    expect(await warm.asOf()).toBeNull()
  })

  test('forgets runs that ended long ago', async () => {
    await warm.apply([runChange(1, id, { status: 'success', claim_state: 'complete' })])
    expect(await warm.prune(365 * 24 * 3_600_000 * 100)).toBe(0)
    expect(await warm.prune(-365 * 24 * 3_600_000 * 100)).toBe(1)
    expect(await live(id)).toBeUndefined()
  })
})

test('with each change a broadcast goes to the private channel of the workspace, once', async () => {
  const warm = new PostgresWarmTier(gateway)
  const id = randomUUID()
  const changes = [runChange(1, id), eventChange(2, id, 'node_start', 'a')]
  const sent = async () =>
    await database.as('supabase_admin')<{ event: string; private: boolean; payload: { run_id: string } }[]>`
      select event, private, payload from realtime.messages where topic = 'starflow:workspace:acme' and payload ->> 'run_id' = ${id}`
  await warm.apply(changes)
  await warm.apply(changes)
  expect(await sent()).toMatchObject([
    { event: 'run', private: true, payload: { active_nodes: { a: { attempt: 1 } } } },
  ])
  await warm.reportProgress(id, 'a', 50)
  expect((await sent()).filter(({ event }) => event === 'progress')).toMatchObject([{ payload: { value: 50 } }])
})
