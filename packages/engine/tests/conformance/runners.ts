import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { beat, claim, claimedRun, definition, enqueue, heldRun, TTL_MS } from './run-fixture.ts'

/** Who runs what, and which runs nobody does. */
export function describeRunners(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: runners and unserved runs`, () => {
    const store = useStore(factory)

    async function reasons(): Promise<string[]> {
      return (await store().adapter.listUnservedRuns({ limit: 10 })).map(({ reason }) => reason)
    }

    test('a runner is live until its last sign of life is too old', async () => {
      const { adapter, advance } = store()
      await adapter.heartbeat(beat({ runnerPool: 'gpu', capacity: 8 }))
      expect(await adapter.listRunners()).toEqual([
        {
          runnerId: 'runner-a',
          runnerPool: 'gpu',
          capacity: 8,
          runs: 0,
          lastHeartbeat: expect.any(String),
          isLive: true,
          isAccepting: true,
          workspaceId: null,
        },
      ])
      await advance(TTL_MS + 1000)
      expect(await adapter.listRunners()).toMatchObject([{ runnerId: 'runner-a', isLive: false }])
      await adapter.heartbeat(beat({ capacity: 2 }))
      expect(await adapter.listRunners()).toMatchObject([
        { runnerId: 'runner-a', runnerPool: null, capacity: 2, isLive: true },
      ])
    })

    test('a runner is listed with the number of runs that it holds', async () => {
      const { adapter } = store()
      const held = [await claimedRun(adapter), await claimedRun(adapter)]
      await adapter.heartbeat(beat({ claims: held.map((run) => run.claim) }))
      await adapter.heartbeat(beat({ runnerId: 'runner-b' }))
      expect((await adapter.listRunners()).map(({ runnerId, runs }) => [runnerId, runs]).toSorted()).toEqual([
        ['runner-a', 2],
        ['runner-b', 0],
      ])
      await held[0]!.bound.releaseRun(held[0]!.runId, { delayMs: 0, reason: 'drain' })
      expect((await adapter.listRunners()).find(({ runnerId }) => runnerId === 'runner-a')?.runs).toBe(1)
    })

    test('the leases of runners are listed, the one that is over first at the top, until they are given up', async () => {
      const { adapter, advance } = store()
      const first = await claimedRun(adapter)
      await advance(1000)
      const second = await heldRun(adapter, { workspaceId: 'globex' }, 'runner-b')
      const leases = await adapter.listLeases({ limit: 10 })
      expect(leases).toEqual([
        {
          ...{ runId: first.runId, templateId: 'orders', workspaceId: 'acme', runnerId: 'runner-a' },
          ...{ claimState: 'running', claimAttempts: 1, leaseUntil: expect.any(String) },
          lastHeartbeat: expect.any(String),
        },
        expect.objectContaining({ runId: second.runId, runnerId: 'runner-b' }),
      ])
      expect(leases[0]!.leaseUntil < leases[1]!.leaseUntil).toBe(true)
      expect(await adapter.listLeases({ workspaceId: 'globex', limit: 10 })).toEqual([leases[1]])
      await first.bound.releaseRun(first.runId, { delayMs: 0, reason: 'drain' })
      expect(await adapter.listLeases({ limit: 10 })).toEqual([leases[1]])
    })

    test('a runner that has gone is no longer listed, and is not missed twice', async () => {
      const { adapter } = store()
      await adapter.heartbeat(beat())
      await adapter.removeRunner('runner-a')
      await adapter.removeRunner('runner-a')
      expect(await adapter.listRunners()).toEqual([])
    })

    test('a queued run without any live runner is unserved', async () => {
      const { adapter, advance } = store()
      const runId = await enqueue(adapter)
      expect(await adapter.listUnservedRuns({ limit: 10 })).toEqual([
        {
          ...{ runId, templateId: 'orders', queuedAt: expect.any(String), runnerPool: null },
          ...{ reason: 'no_runner', detail: null },
        },
      ])
      await adapter.heartbeat(beat({ definitionIds: [await definition(adapter)] }))
      expect(await reasons()).toEqual([])
      await advance(TTL_MS + 1000)
      expect(await reasons()).toEqual(['no_runner'])
    })

    test('a queued run whose shape no live runner has is unserved', async () => {
      const { adapter } = store()
      await enqueue(adapter, { definitionId: await definition(adapter, 'orders', 'a') })
      await adapter.heartbeat(beat({ definitionIds: [await definition(adapter, 'orders', 'b')] }))
      expect(await reasons()).toEqual(['other_definition'])
    })

    test('a queued run whose shape only runners of another pool have is unserved', async () => {
      const { adapter } = store()
      const definitionIds = [await definition(adapter)]
      await enqueue(adapter, { runnerPool: 'gpu' })
      await enqueue(adapter)
      await adapter.heartbeat(beat({ definitionIds }))
      await adapter.heartbeat(beat({ runnerId: 'runner-b', runnerPool: 'cpu', definitionIds }))
      expect(await adapter.listUnservedRuns({ limit: 10 })).toMatchObject([{ runnerPool: 'gpu', reason: 'other_pool' }])
      await adapter.heartbeat(beat({ runnerId: 'runner-c', runnerPool: 'gpu', definitionIds }))
      expect(await reasons()).toEqual([])
    })

    test('a runner that drains serves nobody new, and says under which workspace it reports', async () => {
      const { adapter } = store()
      const definitionIds = [await definition(adapter)]
      await enqueue(adapter)
      await adapter.heartbeat(beat({ definitionIds, workspaceId: 'acme' }))
      expect(await reasons()).toEqual([])
      await adapter.heartbeat(beat({ definitionIds, workspaceId: 'acme', isAccepting: false }))
      expect(await reasons()).toEqual(['no_runner'])
      expect(await adapter.listRunners()).toMatchObject([{ isLive: true, isAccepting: false, workspaceId: 'acme' }])
      await adapter.heartbeat(beat({ runnerId: 'runner-b', definitionIds }))
      expect(await reasons()).toEqual([])
    })

    test('a queued run whose flow a live runner refuses is unserved for its reason, until a runner takes it', async () => {
      const { adapter } = store()
      const runId = await enqueue(adapter)
      await adapter.heartbeat(beat({ refusedFlows: { orders: 'There is no secret to sign a token with.' } }))
      expect(await adapter.listUnservedRuns({ limit: 10 })).toMatchObject([
        { runId, reason: 'refused', detail: 'There is no secret to sign a token with.' },
      ])
      await adapter.heartbeat(beat({ runnerId: 'runner-b', definitionIds: [await definition(adapter)] }))
      expect(await reasons()).toEqual([])
    })

    test('a run that somebody holds, that waits or that has ended is not unserved', async () => {
      const { adapter } = store()
      const { runId } = await claimedRun(adapter)
      expect(await reasons()).toEqual([])
      await adapter.cancelRun(runId, 'not wanted any more')
      expect(await reasons()).toEqual([])
    })

    test('unserved runs are listed from the oldest on, by workspace', async () => {
      const { adapter, advance } = store()
      const queued: string[] = []
      for (const workspaceId of ['acme', 'globex', 'acme']) {
        queued.push(await enqueue(adapter, { workspaceId }))
        await advance(1000)
      }
      const list = async (workspaceId: string | undefined, limit: number) =>
        (await adapter.listUnservedRuns({ workspaceId, limit })).map(({ runId }) => runId)
      expect(await list(undefined, 2)).toEqual(queued.slice(0, 2))
      expect(await list('acme', 10)).toEqual([queued[0], queued[2]])
      expect(await claim(adapter)).not.toBeNull()
    })
  })
}
