import type { WorkerFunction } from '../../api/functions.ts'
import type { Queue } from '../../api/queues.ts'

/** A queue with the steps that fill it and the functions that serve it. */
export interface QueueRow extends Queue {
  /** Undefined: a queue without a flow. */
  readonly flow: string | undefined
  /** In the order of the flow. */
  readonly stepSlugs: readonly string[]
  readonly workerFunctions: readonly WorkerFunction[]
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

/** Steps of a flow in their order, with their queues. */
export interface FlowOrder {
  readonly flow: string
  readonly steps: readonly { readonly step: string; readonly queue: string | null }[]
}

/** One row per queue, those of flows first, as their flows and steps are ordered. */
export function queueRows(
  queues: readonly Queue[],
  functions: readonly WorkerFunction[],
  flows: readonly FlowOrder[],
): readonly QueueRow[] {
  const byName = new Map(functions.map((each) => [each.function, each]))
  const routes = flows.flatMap(({ steps }) => steps.map(({ queue }) => queue))
  const place = ({ queue }: Queue) => {
    const index = routes.indexOf(queue)
    return index < 0 ? routes.length : index
  }
  return queues
    .map((queue): QueueRow => {
      const steps = queue.steps.map((step) => step.split('.') as [string, string])
      return {
        ...queue,
        flow: steps[0]?.[0],
        stepSlugs: steps.map(([, step]) => step),
        workerFunctions: queue.functions.flatMap((name) => byName.get(name) ?? []),
        coverage: coverageOf(queue),
      }
    })
    .sort(
      (a, b) =>
        Number(a.flow === undefined) - Number(b.flow === undefined) ||
        (a.flow ?? '').localeCompare(b.flow ?? '') ||
        place(a) - place(b) ||
        a.queue.localeCompare(b.queue),
    )
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
      [row.queue, row.flow ?? '', ...row.stepSlugs].some((each) => each.toLowerCase().includes(wanted)),
  )
}

export function isInTrouble({ troubles }: Pick<Queue, 'troubles'>): boolean {
  return troubles.length > 0
}

function coverageOf({ depth, isFenced, liveWorkers }: Queue): Coverage {
  if (depth === null) return 'gone'
  if (isFenced) return 'fenced'
  if (liveWorkers > 0) return 'covered'
  return depth === 0 ? 'idle' : 'uncovered'
}
