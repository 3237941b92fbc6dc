import { coverageProblem, type RouteCoverage, readCoverage, workerProblem } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'
import { requireFlow } from './worker-function-set.ts'

interface CoverageOptions extends DatabaseOptions {
  readonly flow?: string
  readonly strict?: boolean
  readonly json?: boolean
}

/** Adds `starflow coverage`. */
export function addCoverageCommand(program: Command, outputFor: (options: { json?: boolean }) => Output): void {
  withDatabaseOptions(
    program
      .command('coverage')
      .description('Show which queue has which live workers; exit code 1 when a queue with work has none.')
      .option('--flow <slug>', 'one flow only')
      .option('--strict', 'fail for a queue without a worker although it is empty'),
  ).action((options: CoverageOptions) => runCoverage(options, outputFor(options)))
}

async function runCoverage(options: CoverageOptions, output: Output): Promise<void> {
  const routes = await withDatabase(options, async ({ sql }) => {
    if (options.flow !== undefined) await requireFlow(sql, options.flow)
    return readCoverage(sql, options.flow)
  })
  const problemOf = options.strict === true ? workerProblem : coverageProblem
  const uncovered = routes.filter((route) => problemOf(route) !== undefined)
  output.result({
    routes,
    uncovered: uncovered.map(({ flowSlug, stepSlug, queueName }) => ({ flowSlug, stepSlug, queueName })),
  })
  for (const line of coverageLines(routes, problemOf)) output.line(line)
  if (routes.length === 0) output.line('No flow has been compiled in this database.')
  if (uncovered.length === 0) return
  output.line(`\n${uncovered.length} of ${routes.length} routes: work waits there, safely, until a worker comes.`)
  throw new CommandEnded(EXIT_CODES.failed)
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
