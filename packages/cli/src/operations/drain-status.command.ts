import { readVersionDrain } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'
import { requireFlow } from './worker-function-set.ts'

/** Adds `starflow drain-status`. */
export function addDrainStatusCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('drain-status')
      .description('Show what is left of each concrete flow: open runs, and the workers that serve them.')
      .option('--flow <slug>', 'one flow only'),
  ).action((options: DatabaseOptions & { flow?: string; json?: boolean }) =>
    runDrainStatus(options, outputFor(options)),
  )
}

async function runDrainStatus(options: DatabaseOptions & { flow?: string }, output: Output): Promise<void> {
  const versions = await withDatabase(options, async ({ sql }) => {
    if (options.flow !== undefined) await requireFlow(sql, options.flow)
    return readVersionDrain(sql, options.flow)
  })
  output.result({ versions })
  const lines = textTable(
    [
      { title: 'flow' },
      { title: 'open runs', align: 'right' },
      { title: 'open waits', align: 'right' },
      { title: 'oldest since' },
      { title: 'live workers', align: 'right' },
      { title: '' },
    ],
    versions.map((each) => [
      each.flowSlug,
      String(each.openRuns),
      String(each.openWaits),
      each.oldestOpenRunAt?.toISOString() ?? '',
      String(each.liveWorkers),
      each.openRuns === 0 ? 'drained' : '',
    ]),
  )
  for (const line of versions.length === 0 ? ['No flow has been compiled in this database.'] : lines) output.line(line)
}
