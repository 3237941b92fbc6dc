import type { Sql } from '@starflow/core'
import {
  fence,
  type RouteCoverage,
  readVersionDrain,
  type VersionDrain,
  workerProblem,
} from '@starflow/core/operations'
import { StarflowError } from '@starflow/errors'
import type { Output } from '../output/output.ts'
import { formatNumberOf } from '../output/text-table.ts'
import { awaitCoverage } from './await-coverage.ts'
import { functionsOfFlow, requireFlow } from './worker-function-set.ts'

export interface VersionRollout {
  readonly to: string
  readonly from?: string | undefined
  readonly retire?: boolean | undefined
  readonly dryRun?: boolean | undefined
  /** How long to wait until every route of the new version has a live worker, in seconds. */
  readonly waitTimeout: number
}

/**
 * The steps of bringing up a new concrete version: every route of it must have a live worker before callers switch; the
 * workers of the old one stay until no run of it is open.
 *
 * @throws StarflowError SF636 a route without a live worker, or open runs of what is to be retired; SF201
 */
export async function rollOutVersion(
  sql: Sql,
  rollout: VersionRollout,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const { to, from } = rollout
  for (const slug of [to, from]) if (slug !== undefined) await requireFlow(sql, slug)
  const routes = await coveredRoutes(sql, rollout, output, signal)
  output.line(`ready     every route of ${to} has a live worker:`)
  for (const route of routes) output.line(`  ${route.stepSlug} (${route.queueName}): ${route.liveWorkers}`)

  const old = from === undefined ? undefined : (await readVersionDrain(sql, from))[0]
  const retired =
    old === undefined || rollout.retire !== true ? [] : await retire(sql, old, to, rollout.dryRun === true)
  output.result({
    to,
    routes: routes.map(({ stepSlug, queueName, liveWorkers }) => ({ stepSlug, queueName, liveWorkers })),
    from: old ?? null,
    retired,
    isDryRun: rollout.dryRun === true,
  })
  if (old === undefined) {
    output.line(`\nCallers may start ${to} now. The workers of older versions stay until: npx starflow drain-status`)
  } else if (retired.length > 0) {
    output.line(`retired   ${retired.join(', ')}${rollout.dryRun === true ? ' (would be fenced)' : ''}`)
    output.line('\nDelete them when you like: supabase functions delete NAME')
  } else {
    output.line(
      `\n${old.flowSlug}: ${formatNumberOf(old.openRuns, 'open run')}, ${formatNumberOf(old.liveWorkers, 'live worker')}.`,
    )
    output.line(
      old.openRuns === 0
        ? 'Once nothing starts it any longer, run this again with --retire.'
        : `Let callers start ${to}; the workers of ${old.flowSlug} stay until its runs have ended.`,
    )
  }
}

/** Begins the name of the fence that a retired version's functions stay behind: they are "fenced by retirement of ordersV1". */
export const RETIREMENT = 'retirement of '

async function coveredRoutes(
  sql: Sql,
  { to, waitTimeout }: VersionRollout,
  output: Output,
  signal: AbortSignal,
): Promise<RouteCoverage[]> {
  const { routes, uncovered } = await awaitCoverage(sql, {
    ...{ flowSlug: to, problemOf: workerProblem, waitTimeout, signal, output },
  })
  if (uncovered.length > 0) throw notCovered(to, uncovered, routes.length)
  return routes
}

async function retire(sql: Sql, old: VersionDrain, to: string, isDryRun: boolean): Promise<string[]> {
  if (old.openRuns > 0) throw stillOpen(old)
  const serving = new Set(await functionsOfFlow(sql, to))
  // A grouped function may serve both versions; it goes on.
  const names = (await functionsOfFlow(sql, old.flowSlug)).filter((name) => !serving.has(name))
  if (names.length > 0 && !isDryRun) await fence(sql, names, `${RETIREMENT}${old.flowSlug}`)
  return names
}

function notCovered(to: string, uncovered: readonly RouteCoverage[], count: number): StarflowError {
  return new StarflowError({
    code: 'SF636',
    message: `${uncovered.length} of ${count} routes of "${to}" have no live worker.`,
    detail: uncovered
      .map((route) => `${route.stepSlug} (queue ${route.queueName}): ${workerProblem(route)}`)
      .join('; '),
    hint: 'Deploy its worker functions and give them some seconds, or --wait-timeout 60. Callers must not switch yet: their runs would wait.',
    fields: { flowSlug: to, steps: uncovered.map((route) => route.stepSlug) },
  })
}

function stillOpen({ flowSlug, openRuns, oldestOpenRunAt }: VersionDrain): StarflowError {
  return new StarflowError({
    code: 'SF636',
    message: `"${flowSlug}" still has ${formatNumberOf(openRuns, 'open run')}: its workers stay.`,
    detail: `The oldest was started at ${oldestOpenRunAt?.toISOString()}.`,
    hint: 'Wait until they have ended (npx starflow drain-status), or cancel them: npx starflow runs cancel <run>',
    fields: { flowSlug, openRuns },
  })
}
