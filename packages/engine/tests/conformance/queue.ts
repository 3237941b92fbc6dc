import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { listenTo } from './queue-listener.ts'
import { between, claim, claimedRun, definition, enqueue, eventTypes, readRun, start, TTL_MS } from './run-fixture.ts'

/** How runs are put into the queue, and taken from it by exactly one runner. */
export function describeQueue(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: the queue`, () => {
    const store = useStore(factory)

    test('an enqueued run is queued, due at once, and has not started', async () => {
      const { adapter } = store()
      const definitionId = await definition(adapter)
      const runId = randomUUID()
      const input = { order: 'A-1' }
      expect(await adapter.enqueueRun({ ...start({ definitionId, input }), runId })).toEqual({ runId, created: true })
      const run = await readRun(adapter, runId)
      expect(run).toMatchObject({
        status: 'queued',
        claimState: 'queued',
        input,
        definitionId,
        startedAt: null,
        leasedBy: null,
        claimAttempts: 0,
      })
      expect(run.availableAt).toBe(run.queuedAt)
      expect(await adapter.readEvents(runId)).toEqual([])
    })

    test('a run keeps the span that started it, queued or not', async () => {
      const { adapter } = store()
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const queued = await enqueue(adapter, { traceparent })
      expect((await claim(adapter))?.run).toMatchObject({ runId: queued, traceparent })
      const started = randomUUID()
      await adapter.onRunStart(started, start({ traceparent }))
      expect(await readRun(adapter, started)).toMatchObject({ traceparent })
      expect(await readRun(adapter, await enqueue(adapter))).toMatchObject({ traceparent: null })
    })

    test('a claim takes the run with all that is known of it, and gives its lease', async () => {
      const { adapter } = store()
      const runId = await enqueue(adapter, { input: { order: 'A-1' } })
      const claimed = await claim(adapter)
      expect(claimed?.claim).toEqual({ runId, runnerId: 'runner-a', claimAttempts: 1 })
      expect(claimed?.run).toEqual(await readRun(adapter, runId))
      expect(claimed?.run).toMatchObject({
        status: 'queued',
        claimState: 'claimed',
        leasedBy: 'runner-a',
        input: { order: 'A-1' },
        startedAt: null,
      })
      expect(between(claimed!.run.lastHeartbeat, claimed!.run.leaseUntil)).toBe(TTL_MS)
    })

    test('a claimed run that starts is running, and started once however often it changes hands', async () => {
      const { adapter, advance } = store()
      const first = await claimedRun(adapter)
      const { startedAt } = await readRun(adapter, first.runId)
      expect(await readRun(adapter, first.runId)).toMatchObject({ status: 'running', claimState: 'running' })
      await first.bound.releaseRun(first.runId, { delayMs: 0, reason: 'drain' })
      await advance(5000)
      const again = await claim(adapter, 'runner-b')
      await adapter.bind(again!.claim).onRunStart(first.runId, start())
      expect(await readRun(adapter, first.runId)).toMatchObject({ status: 'running', startedAt, leasedBy: 'runner-b' })
      expect(await eventTypes(adapter, first.runId)).toEqual(['run_started', 'run_released'])
    })

    test('an empty queue gives nothing', async () => {
      const { adapter } = store()
      expect(await claim(adapter)).toBeNull()
    })

    test('runs are claimed in the order in which they were queued, each once', async () => {
      const { adapter, advance } = store()
      const queued: string[] = []
      for (let index = 0; index < 3; index++) {
        queued.push(await enqueue(adapter))
        await advance(1000)
      }
      const claims = [await claim(adapter), await claim(adapter), await claim(adapter), await claim(adapter)]
      expect(claims.map((claimed) => claimed?.run.runId)).toEqual([...queued, undefined])
    })

    test('a run that was given back stands behind those that are queued already', async () => {
      const { adapter, advance } = store()
      const first = await claimedRun(adapter)
      await advance(1000)
      const second = await enqueue(adapter)
      await advance(1000)
      await first.bound.releaseRun(first.runId, { delayMs: 0, reason: 'drain' })
      expect(await readRun(adapter, first.runId)).toMatchObject({
        status: 'queued',
        claimState: 'queued',
        leasedBy: null,
      })
      expect((await claim(adapter))?.run.runId).toBe(second)
      expect((await claim(adapter))?.claim).toEqual({ runId: first.runId, runnerId: 'runner-a', claimAttempts: 2 })
    })

    test('of runners that ask at the same time exactly one gets a run', async () => {
      const { adapter, connect } = store()
      const queued = await Promise.all(Array.from({ length: 12 }, () => enqueue(adapter)))
      const runners = [adapter, await connect(), await connect()]
      const taken = await Promise.all(
        Array.from({ length: 18 }, (_, index) => claim(runners[index % 3]!, `runner-${index}`)),
      )
      const won = taken.flatMap((claimed) => (claimed === null ? [] : [claimed.run.runId]))
      expect(won.toSorted()).toEqual(queued.toSorted())
    })

    test('a runner takes only runs of the definitions that it serves', async () => {
      const { adapter } = store()
      const old = await definition(adapter, 'orders', 'a')
      const current = await definition(adapter, 'orders', 'b')
      await enqueue(adapter, { definitionId: old })
      const runId = await enqueue(adapter, { definitionId: current })
      const other = await definition(adapter, 'invoices')
      expect((await claim(adapter, 'runner-a', { definitionIds: [other, current] }))?.run.runId).toBe(runId)
      expect(await claim(adapter, 'runner-a', { definitionIds: [other, current] })).toBeNull()
      expect(await claim(adapter, 'runner-a', { definitionIds: [] })).toBeNull()
    })

    test('a run that was cancelled in the queue is claimed by nobody', async () => {
      const { adapter } = store()
      const runId = await enqueue(adapter)
      expect(await adapter.cancelRun(runId, 'not wanted any more')).toBe(true)
      expect(await claim(adapter)).toBeNull()
    })

    test('whoever listens is woken by a run that another connection queues, until it stops listening', async () => {
      const { adapter, connect } = store()
      if (adapter.onQueued === undefined) return
      const sender = await connect()
      const first = await listenTo(adapter)
      await enqueue(sender)
      await first.woken()
      await first.stop()
      const { wakes } = first
      // When a second listener is woken by a later run, the first one has had its time.
      const second = await listenTo(adapter)
      await enqueue(sender)
      await second.woken()
      await second.stop()
      expect(first.wakes).toBe(wakes)
    })
  })
}
