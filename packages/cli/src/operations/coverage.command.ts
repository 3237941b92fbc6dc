import { coverageProblem, type RouteCoverage, workerProblem } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatCount, formatDuration, formatNumberOf, textTable } from '../output/text-table.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { awaitCoverage, timeoutSeconds } from './await-coverage.ts'
import { requireFlow } from './worker-function-set.ts'

interface CoverageOptions extends DatabaseOptions {
  readonly flow?: string
  readonly strict?: boolean
  readonly waitTimeout: number
  readonly json?: boolean
}

/** Adds `starflow coverage`. */
export function addCoverageCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('coverage')
      .description('Show which queue has which live workers; exit code 1 when a queue with work has none.')
      .option('--flow <slug>', 'one flow only')
      .option('--strict', 'fail for a queue without a worker although it is empty')
      .option('--wait-timeout <seconds>', 'how long to wait until none has a problem', timeoutSeconds, 0),
  ).action((options: CoverageOptions) => runCoverage(options, outputFor(options)))
}

async function runCoverage(options: CoverageOptions, output: Output): Promise<void> {
  const problemOf = options.strict === true ? workerProblem : coverageProblem
  const { routes, uncovered } = await covered(options, problemOf, output)
  output.result({
    routes,
    uncovered: uncovered.map(({ flowSlug, stepSlug, queueName }) => ({ flowSlug, stepSlug, queueName })),
  })
  for (const line of coverageLines(routes, problemOf)) output.line(line)
  if (routes.length === 0) output.line('No flow has been compiled in this database.')
  if (uncovered.length === 0) return
  output.line(`\n${uncoveredWords(uncovered, routes.length)}`)
  throw new CommandEnded(EXIT_CODES.failed)
}

async function covered(
  { flow: flowSlug, waitTimeout, ...options }: CoverageOptions,
  problemOf: (route: RouteCoverage) => string | undefined,
  output: Output,
) {
  const interruption = untilInterrupted()
  const { signal } = interruption
  try {
    return await withDatabase(options, async ({ sql }) => {
      if (flowSlug !== undefined) await requireFlow(sql, flowSlug)
      return await awaitCoverage(sql, { flowSlug, problemOf, waitTimeout, signal, output })
    })
  } catch (error) {
    if (signal.aborted) throw new CommandEnded(EXIT_CODES.interrupted)
    throw error
  } finally {
    interruption.release()
  }
}

function uncoveredWords(uncovered: readonly RouteCoverage[], routes: number): string {
  const waiting = uncovered.filter(({ depth }) => depth !== null && depth > 0).length
  const gone = uncovered.filter(({ depth }) => depth === null).length
  return [
    `${uncovered.length} of ${formatNumberOf(routes, 'route')} ${uncovered.length === 1 ? 'has' : 'have'} no worker that claims.`,
    waiting === 0 ? '' : `Work waits on ${formatCount(waiting)}, safely, until one comes.`,
    gone === 0 ? '' : 'A queue that is gone comes back with: npx starflow repair',
  ]
    .filter(Boolean)
    .join(' ')
}

function coverageLines(
  routes: readonly RouteCoverage[],
  problemOf: (route: RouteCoverage) => string | undefined,
): string[] {
  if (routes.length === 0) return []
  return textTable(
    [
      ...[{ title: 'flow' }, { title: 'step' }, { title: 'queue' }],
      ...[{ title: 'depth', align: 'right' } as const, { title: 'oldest', align: 'right' } as const],
      ...[{ title: 'live', align: 'right' } as const, { title: 'functions' }, { title: 'problem' }],
    ],
    routes.map((route) => [
      route.flowSlug,
      route.stepSlug,
      route.queueName,
      route.depth === null ? '-' : route.depth >= 1000 ? '1000+' : String(route.depth),
      route.oldestSeconds === null ? '' : formatDuration(route.oldestSeconds * 1000),
      String(route.liveWorkers),
      route.functions.join(', '),
      problemOf(route) ?? (route.fence === null ? '' : `(${route.fence})`),
    ]),
  )
}
