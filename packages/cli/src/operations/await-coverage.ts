import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '@starflow/core'
import { type RouteCoverage, readCoverage } from '@starflow/core/operations'
import { InvalidArgumentError } from 'commander'
import type { Output } from '../output/output.ts'
import { formatNumberOf } from '../output/text-table.ts'

export interface CoverageWait {
  readonly flowSlug?: string | undefined
  readonly problemOf: (route: RouteCoverage) => string | undefined
  /** How long to look again while a route has a problem, in seconds; 0 looks once. */
  readonly waitTimeout: number
  readonly signal: AbortSignal
  /** Told which routes are waited for, whenever these are others. */
  readonly output: Output
}

const POLL_MS = 500

/** Reads the routes as soon as none has a problem, or as they are when the time is over. */
export async function awaitCoverage(
  sql: Sql,
  { flowSlug, problemOf, waitTimeout, signal, output }: CoverageWait,
): Promise<{ readonly routes: RouteCoverage[]; readonly uncovered: RouteCoverage[] }> {
  const deadline = performance.now() + waitTimeout * 1000
  let told = ''
  for (;;) {
    const routes = await readCoverage(sql, flowSlug)
    const uncovered = routes.filter((route) => problemOf(route) !== undefined)
    if (uncovered.length === 0 || performance.now() >= deadline) return { routes, uncovered }
    const awaited = uncovered.map(({ queueName }) => queueName).join(', ')
    if (awaited !== told) {
      output.line(`waiting   ${uncovered.length} of ${formatNumberOf(routes.length, 'route')}: ${awaited}`)
      told = awaited
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** The value of an option that says how long to wait. */
export function timeoutSeconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new InvalidArgumentError('It is a number of seconds.')
}
