import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FlowCatalog } from './flow-catalog.ts'
import { RunDirectory } from './run-directory.ts'
import type { ListQuery, Placement, RunPlacement, RunSummary } from './run-placement.ts'

/** A placement whose runs are a list, and whose cursor is a place in it. It looks at some runs per page, and finds those of even instants. */
function listed(placement: Placement, createdAts: readonly number[], lookAt = Number.POSITIVE_INFINITY): RunPlacement {
  const runs = createdAts.map((createdAt, index) => ({
    ...{ runId: `${placement} ${index}`, placement, createdAt: new Date(createdAt).toISOString() },
  })) as unknown as RunSummary[]
  const list = async (_: unknown, { before, limit }: ListQuery) => {
    const start = before === undefined ? 0 : Number(before)
    const isFound = lookAt === Number.POSITIVE_INFINITY ? () => true : isEven
    const ahead = runs.slice(start, start + Math.min(lookAt, runs.length))
    const page = ahead.filter(isFound).slice(0, limit)
    const seen = page.length < limit ? ahead : ahead.slice(0, ahead.indexOf(page.at(-1)!) + 1)
    const isCut = seen.length === lookAt && page.length < limit
    return {
      runs: page,
      hasMore: runs.length > start + seen.length || isCut,
      lookedUntil: isCut ? seen.at(-1)!.createdAt : null,
      cursorBehind: async (count: number) =>
        String(start + (count === page.length ? seen.length : seen.indexOf(page[count - 1]!) + 1)),
    }
  }
  return { placement, list } as unknown as RunPlacement
}

function isEven({ createdAt }: RunSummary): boolean {
  return Date.parse(createdAt) % 2 === 0
}

const times = fc
  .array(fc.integer({ min: 0, max: 20 }), { maxLength: 12 })
  .map((each) => each.toSorted((left, right) => right - left))
const limits = fc.integer({ min: 1, max: 5 })
const filter = {
  ...{ flowSlug: undefined, statuses: undefined, env: undefined, placement: undefined, search: undefined },
  ...{ createdFrom: undefined, createdBefore: undefined },
}

/** Every page of the list, one after the other. */
async function pagesOf(placements: readonly RunPlacement[], limit: number): Promise<(readonly RunSummary[])[]> {
  const directory = new RunDirectory(placements, new FlowCatalog([]))
  const pages: (readonly RunSummary[])[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await directory.list('every', { ...filter, cursor, limit })
    pages.push(page.runs)
    if (page.next === null) return pages
    cursor = page.next
  }
}

const idsOf = (runs: readonly RunSummary[], wanted: Placement) =>
  runs.filter((run) => run.placement === wanted).map((run) => run.runId)

it('pages over both placements show every run once, the newest first', async () => {
  await fc.assert(
    fc.asyncProperty(times, times, limits, async (queue, runner, limit) => {
      const pages = await pagesOf([listed('queue', queue), listed('runner', runner)], limit)
      for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit)
      const seen = pages.flat()
      expect(idsOf(seen, 'queue')).toEqual(queue.map((_, index) => `queue ${index}`))
      expect(idsOf(seen, 'runner')).toEqual(runner.map((_, index) => `runner ${index}`))
      expect(seen.map((run) => run.createdAt)).toEqual(
        seen
          .map((run) => run.createdAt)
          .toSorted()
          .reverse(),
      )
    }),
    { numRuns: 200 },
  )
})

it('pages of a search show what it finds once and the newest first, though each looks only so far', async () => {
  await fc.assert(
    fc.asyncProperty(times, times, limits, limits, limits, async (queue, runner, limit, lookAtQueue, lookAtRunner) => {
      const placements = [listed('queue', queue, lookAtQueue), listed('runner', runner, lookAtRunner)]
      const seen = (await pagesOf(placements, limit)).flat()
      const even = (all: readonly number[], placement: Placement) =>
        all.flatMap((at, index) => (at % 2 === 0 ? [`${placement} ${index}`] : []))
      expect(idsOf(seen, 'queue')).toEqual(even(queue, 'queue'))
      expect(idsOf(seen, 'runner')).toEqual(even(runner, 'runner'))
      expect(seen.map((run) => run.createdAt)).toEqual(
        seen
          .map((run) => run.createdAt)
          .toSorted()
          .reverse(),
      )
    }),
    { numRuns: 200 },
  )
})
