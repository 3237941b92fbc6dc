import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { RunQuery, WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { heldRun, readRun, startRun } from './run-fixture.ts'

/** Reads, and their pages. */
export function describeReads(factory: AdapterFactory<WorkflowStateAdapter>): void {
  describe(`${factory.name}: reads`, () => {
    const store = useStore(factory)

    async function list(query: Partial<RunQuery> = {}): Promise<string[]> {
      const { runs } = await store().adapter.listRuns({ limit: 50, ...query })
      return runs.map(({ runId }) => runId)
    }

    test('of a run that is not there, nothing is read', async () => {
      const { adapter } = store()
      expect(await adapter.readRun(randomUUID())).toBeNull()
      expect(await adapter.readEvents(randomUUID())).toEqual([])
      expect(await adapter.listRuns({ limit: 10 })).toEqual({ runs: [], next: null, lookedUntil: null })
    })

    test('runs are listed with all that is known of them but what may be long, the newest first', async () => {
      const { adapter, advance } = store()
      const started: string[] = []
      for (let index = 0; index < 3; index++) {
        started.unshift(await startRun(adapter))
        await advance(1000)
      }
      const { runs, next } = await adapter.listRuns({ limit: 50 })
      expect(runs.map(({ runId }) => runId)).toEqual(started)
      const { input, output, checkpoint, traceparent, ...rest } = await readRun(adapter, started[0]!)
      expect(runs[0]).toEqual(rest)
      expect(next).toBeNull()
    })

    test('the order of the list is that of their making, whatever happens to runs later', async () => {
      const { adapter, advance } = store()
      const first = await heldRun(adapter)
      await advance(1000)
      const second = await startRun(adapter)
      await first.bound.onRunError(first.runId, { name: 'Error', message: 'no' })
      await first.bound.clearLease(first.runId)
      await adapter.retryRun(first.runId)
      expect(await list()).toEqual([second, first.runId])
    })

    test('pages have every run once, also those of one instant, while new ones arrive', async () => {
      const { adapter, advance } = store()
      for (let index = 0; index < 7; index++) {
        await startRun(adapter)
        if (index % 3 === 2) await advance(1000)
      }
      const all = await list()
      const seen: string[] = []
      let before: string | undefined
      do {
        const page = await adapter.listRuns({ limit: 3, before })
        seen.push(...page.runs.map(({ runId }) => runId))
        before = page.next ?? undefined
        await advance(1000)
        await startRun(adapter)
      } while (before !== undefined)
      expect(seen).toEqual(all)
    })

    test('the last page is told as such, also when it is full', async () => {
      const { adapter } = store()
      for (let index = 0; index < 4; index++) await startRun(adapter)
      const first = await adapter.listRuns({ limit: 2 })
      expect(first.next).not.toBeNull()
      const last = await adapter.listRuns({ limit: 2, before: first.next! })
      expect(last.runs).toHaveLength(2)
      expect(last.next).toBeNull()
    })

    test('a list is narrowed by workspace, env, flow and status, one or all of them', async () => {
      const { adapter } = store()
      const plain = await startRun(adapter)
      const other = await startRun(adapter, { workspaceId: 'globex' })
      const staging = await startRun(adapter, { env: 'staging' })
      const invoice = await startRun(adapter, { templateId: 'invoices' })
      await adapter.onRunComplete(invoice, { output: null, durationMs: 1 })
      expect(await list({ workspaceId: 'globex' })).toEqual([other])
      expect(await list({ env: 'staging' })).toEqual([staging])
      expect(await list({ templateId: 'invoices' })).toEqual([invoice])
      expect(await list({ statuses: ['success'] })).toEqual([invoice])
      expect(await list({ workspaceId: 'acme', env: 'prod', templateId: 'orders', statuses: ['running'] })).toEqual([
        plain,
      ])
      expect(await list({ workspaceId: 'globex', statuses: ['success'] })).toEqual([])
    })

    test('runs of several statuses are one list', async () => {
      const { adapter, advance } = store()
      const ids: string[] = []
      for (const end of ['success', 'error', 'cancelled', 'none']) {
        const runId = await startRun(adapter)
        if (end === 'success') await adapter.onRunComplete(runId, { output: null, durationMs: 1 })
        if (end === 'error') await adapter.onRunError(runId, { name: 'Error', message: 'no' })
        if (end === 'cancelled') await adapter.cancelRun(runId, 'enough')
        ids.unshift(runId)
        await advance(1000)
      }
      const [open, cancelled, failed, done] = ids
      expect(await list({ statuses: ['error', 'cancelled'] })).toEqual([cancelled, failed])
      expect(await list({ statuses: ['running', 'success'] })).toEqual([open, done])
      expect(await list({ statuses: ['queued', 'running', 'paused'] })).toEqual([open])
      expect(await list({ statuses: [] })).toEqual([])
    })

    test('a list is narrowed to the time in which runs were made: from an instant on, and before another', async () => {
      const { adapter, advance } = store()
      for (let index = 0; index < 4; index++) {
        await startRun(adapter)
        await advance(1000)
      }
      const { runs } = await adapter.listRuns({ limit: 10 })
      const [newest, third, second, oldest] = runs
      expect(await list({ createdFrom: third!.createdAt })).toEqual([newest!.runId, third!.runId])
      expect(await list({ createdBefore: third!.createdAt })).toEqual([second!.runId, oldest!.runId])
      const between = { createdFrom: second!.createdAt, createdBefore: newest!.createdAt }
      expect(await list(between)).toEqual([third!.runId, second!.runId])
    })

    test('a text finds runs by the beginning of their id, and by a part of their flow slug or error', async () => {
      const { adapter, advance } = store()
      const shipped = await startRun(adapter, { templateId: 'shipParcels' })
      await advance(1000)
      const failed = await startRun(adapter)
      await adapter.onRunError(failed, { name: 'Error', message: 'No 100%_Paper left' })
      expect(await list({ search: shipped })).toEqual([shipped])
      expect(await list({ search: shipped.slice(0, 13).toUpperCase() })).toEqual([shipped])
      expect(await list({ search: 'PARCEL' })).toEqual([shipped])
      expect(await list({ search: '100%_paper' })).toEqual([failed])
      expect(await list({ search: '100__paper' })).toEqual([])
      expect(await list({ search: 'or' })).toEqual([failed])
    })

    test('a page looks no further than it is told to, and the next one goes on where it ended', async () => {
      const { adapter, advance } = store()
      const odd = [await startRun(adapter, { templateId: 'rare' })]
      await advance(1000)
      for (let index = 0; index < 7; index++) {
        await startRun(adapter)
        await advance(1000)
      }
      odd.unshift(await startRun(adapter, { templateId: 'rare' }))
      const everything = (await adapter.listRuns({ limit: 50 })).runs
      const ends: (string | null)[] = []
      const sizes: number[] = []
      const found: string[] = []
      for (let before: string | undefined; ; ) {
        const page = await adapter.listRuns({ search: 'rare', limit: 5, lookAt: 4, before })
        sizes.push(page.runs.length)
        ends.push(page.lookedUntil)
        found.push(...page.runs.map(({ runId }) => runId))
        if (page.next === null) break
        before = page.next
      }
      expect(found).toEqual(odd)
      expect(sizes).toEqual([1, 0, 1])
      expect(ends).toEqual([everything[3]!.createdAt, everything[7]!.createdAt, null])
    })

    test('of a full page the next one begins behind its last run, however far it may look', async () => {
      const { adapter } = store()
      for (let index = 0; index < 4; index++) await startRun(adapter)
      const all = await list()
      const first = await adapter.listRuns({ limit: 2, lookAt: 3 })
      const second = await adapter.listRuns({ limit: 2, lookAt: 3, before: first.next! })
      expect([...first.runs, ...second.runs].map(({ runId }) => runId)).toEqual(all)
    })

    test('a page of a narrowed list goes on in it', async () => {
      const { adapter, advance } = store()
      const wanted: string[] = []
      for (let index = 0; index < 6; index++) {
        const workspaceId = index % 2 === 0 ? 'acme' : 'globex'
        const runId = await startRun(adapter, { workspaceId })
        if (workspaceId === 'globex') wanted.unshift(runId)
        await advance(1000)
      }
      const first = await adapter.listRuns({ workspaceId: 'globex', limit: 2 })
      const rest = await adapter.listRuns({ workspaceId: 'globex', limit: 2, before: first.next! })
      expect([...first.runs, ...rest.runs].map(({ runId }) => runId)).toEqual(wanted)
      expect(rest.next).toBeNull()
    })

    test.each(['', 'yesterday', '"\'; --', 'eyJ9'])('the cursor %j, which no page gave, is refused', async (before) => {
      const { adapter } = store()
      await startRun(adapter)
      await expect(adapter.listRuns({ limit: 2, before })).rejects.toMatchObject({ code: 'SF001' })
    })

    test('a bound adapter reads what the others do', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      const other = await startRun(adapter)
      expect(await bound.readRun(runId)).toEqual(await adapter.readRun(runId))
      expect(await bound.readRun(other)).toEqual(await adapter.readRun(other))
      expect(await bound.listRuns({ limit: 10 })).toEqual(await adapter.listRuns({ limit: 10 }))
      expect(bound.substrate).toBe(adapter.substrate)
    })
  })
}
