import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FlowCatalog } from './flow-catalog.ts'
import { RunDirectory } from './run-directory.ts'
import type { ListQuery, Placement, RunPlacement, RunSummary } from './run-placement.ts'

/** A placement whose runs are a list, and whose cursor is a place in it. */
function listed(placement: Placement, createdAts: readonly number[]): RunPlacement {
  const runs = createdAts.map((createdAt, index) => ({
    ...{ runId: `${placement} ${index}`, placement, createdAt: new Date(createdAt).toISOString() },
  })) as unknown as RunSummary[]
  const list = async (_: unknown, { before, limit }: ListQuery) => {
    const start = before === undefined ? 0 : Number(before)
    const page = runs.slice(start, start + limit)
    return {
      runs: page,
      hasMore: runs.length > start + page.length,
      cursorBehind: async (count: number) => String(start + count),
    }
  }
  return { placement, list } as unknown as RunPlacement
}

it('pages over both placements show every run once', async () => {
  const times = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(times, times, fc.integer({ min: 1, max: 5 }), async (queue, runner, limit) => {
      const directory = new RunDirectory([listed('queue', queue), listed('runner', runner)], new FlowCatalog([]))
      const seen: RunSummary[] = []
      for (let cursor: string | undefined; ; ) {
        const filter = { flowSlug: undefined, status: undefined, env: undefined, placement: undefined }
        const page = await directory.list('every', { ...filter, cursor, limit })
        expect(page.runs.length).toBeLessThanOrEqual(limit)
        seen.push(...page.runs)
        if (page.next === null) break
        expect(page.runs.length).toBe(limit)
        cursor = page.next
      }
      const idsOf = (placement: Placement) => seen.filter((run) => run.placement === placement).map((run) => run.runId)
      expect(idsOf('queue').toSorted()).toEqual(queue.map((_, index) => `queue ${index}`).toSorted())
      expect(idsOf('runner').toSorted()).toEqual(runner.map((_, index) => `runner ${index}`).toSorted())
    }),
    { numRuns: 200 },
  )
})
