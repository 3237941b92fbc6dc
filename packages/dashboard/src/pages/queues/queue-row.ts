import type { WorkerFunction } from '../../api/functions.ts'
import type { Queue, Route } from '../../api/queues.ts'

/** A queue with whatever is known of who fills and who serves it. */
export interface QueueRow {
  readonly queue: string
  /** Undefined: a queue without a flow. */
  readonly flow: string | undefined
  /** In the order of the flow. */
  readonly steps: readonly string[]
  /** Messages; undefined: the queue is gone. */
  readonly depth: number | undefined
  readonly oldestSeconds: number | undefined
  readonly liveWorkers: number
  readonly functions: readonly WorkerFunction[]
  readonly coverage: Coverage
}

/**
 * Whether what comes into a queue is worked on.
 * - `covered`: it has a live worker.
 * - `idle`: it has none, and nothing waits.
 * - `uncovered`: it has none, and work waits.
 * - `fenced`: every function that could serve it is disabled.
 * - `gone`: the queue itself is missing.
 */
export type Coverage = 'covered' | 'idle' | 'uncovered' | 'fenced' | 'gone'

/** Depths are counted up to this. */
export const COUNTED_UP_TO = 1_000

/** One row per queue, those of flows first, as their flows and steps are ordered. */
export function queueRows(
  queues: readonly Queue[],
  routes: readonly Route[],
  functions: readonly WorkerFunction[],
): readonly QueueRow[] {
  const byName = new Map(functions.map((each) => [each.function, each]))
  const order = new Map([...routes].reverse().map((route, index) => [route.queue, routes.length - index]))
  return queues
    .map((queue): QueueRow => {
      const ofQueue = routes.filter((route) => route.queue === queue.queue)
      const names = [...new Set(ofQueue.flatMap((route) => route.functions))]
      return {
        queue: queue.queue,
        flow: ofQueue[0]?.flow,
        steps: ofQueue.map(({ step }) => step),
        depth: queue.depth ?? undefined,
        oldestSeconds: queue.oldestSeconds ?? undefined,
        liveWorkers: queue.liveWorkers,
        functions: names.flatMap((name) => byName.get(name) ?? []),
        coverage: coverageOf(
          queue,
          ofQueue.some(({ isFenced }) => isFenced),
        ),
      }
    })
    .sort((a, b) => place(order, a) - place(order, b) || a.queue.localeCompare(b.queue))
}

/** The rows that a person looks for. */
export function filterQueueRows(
  rows: readonly QueueRow[],
  { text = '', isTrouble = false }: { readonly text?: string | undefined; readonly isTrouble?: boolean | undefined },
): readonly QueueRow[] {
  const wanted = text.trim().toLowerCase()
  return rows.filter(
    (row) =>
      (!isTrouble || isInTrouble(row)) &&
      [row.queue, row.flow ?? '', ...row.steps].some((each) => each.toLowerCase().includes(wanted)),
  )
}

/** Work waits here, and nobody will do it. */
export function isInTrouble({ coverage, depth }: Pick<QueueRow, 'coverage' | 'depth'>): boolean {
  return coverage === 'uncovered' || coverage === 'gone' || (coverage === 'fenced' && depth !== 0)
}

function coverageOf({ depth, liveWorkers }: Queue, isFenced: boolean): Coverage {
  if (depth === null) return 'gone'
  if (isFenced) return 'fenced'
  if (liveWorkers > 0) return 'covered'
  return depth === 0 ? 'idle' : 'uncovered'
}

function place(order: ReadonlyMap<string, number>, { queue }: QueueRow): number {
  return order.get(queue) ?? Number.MAX_SAFE_INTEGER
}
