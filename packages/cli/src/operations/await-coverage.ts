import { setTimeout as sleep } from 'node:timers/promises'
import { type RouteCoverage, readCoverage } from '@starflow/core/operations'
import { InvalidArgumentError } from 'commander'
import type { Sql } from 'postgres'

export interface CoverageWait {
  readonly flowSlug?: string | undefined
  readonly problemOf: (route: RouteCoverage) => string | undefined
  /** How long to look again while a route has a problem, in seconds; 0 looks once. */
  readonly waitTimeout: number
  readonly signal: AbortSignal
}

const POLL_MS = 500

/** Reads the routes as soon as none has a problem, or as they are when the time is over. */
export async function awaitCoverage(
  sql: Sql,
  { flowSlug, problemOf, waitTimeout, signal }: CoverageWait,
): Promise<{ readonly routes: RouteCoverage[]; readonly uncovered: RouteCoverage[] }> {
  const deadline = performance.now() + waitTimeout * 1000
  for (;;) {
    const routes = await readCoverage(sql, flowSlug)
    const uncovered = routes.filter((route) => problemOf(route) !== undefined)
    if (uncovered.length === 0 || performance.now() >= deadline) return { routes, uncovered }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** The value of an option that says how long to wait. */
export function timeoutSeconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new InvalidArgumentError('It is a number of seconds.')
}
