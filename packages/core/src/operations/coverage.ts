import type { Sql } from '../database/sql.ts'

/** One route of a flow beside what serves it. */
export interface RouteCoverage {
  readonly flowSlug: string
  readonly stepSlug: string
  readonly queueName: string
  /** Messages in the queue, counted up to 1000. Null: the queue is gone. */
  readonly depth: number | null
  readonly oldestSeconds: number | null
  readonly liveWorkers: number
  readonly functions: readonly string[]
  /** True where all of its functions are disabled. */
  readonly isFenced: boolean
  readonly fence: string | null
}

/** Reads the coverage of all flows, or of one. */
export async function readCoverage(sql: Sql, flowSlug?: string): Promise<RouteCoverage[]> {
  return await sql<RouteCoverage[]>`
    select flow_slug as "flowSlug", step_slug as "stepSlug", queue_name as "queueName", depth,
           extract(epoch from oldest_age)::float8 as "oldestSeconds", live_workers as "liveWorkers",
           coalesce(function_names, '{}') as functions, fenced as "isFenced", fence
    from pgflow.queue_coverage
    where ${flowSlug ?? null}::text is null or flow_slug = ${flowSlug ?? null}
    order by flow_slug, step_index`
}

/** Why a route's work would not be done now; undefined when all is well. An idle route is well without a worker too. */
export function coverageProblem(route: RouteCoverage): string | undefined {
  if (route.depth === null) return 'the queue is gone'
  return route.depth === 0 ? undefined : workerProblem(route)
}

/** Why nothing would claim from a route, whether or not there is work. */
export function workerProblem(route: RouteCoverage): string | undefined {
  if (route.depth === null) return 'the queue is gone'
  if (route.isFenced) return route.fence ?? 'disabled'
  if (route.liveWorkers > 0) return undefined
  return route.functions.length === 0 ? 'no worker, and no worker function' : 'no live worker'
}
