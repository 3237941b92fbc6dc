import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import type { Sql } from 'postgres'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { askYesOrNo } from '../output/question.ts'
import { formatCount } from '../output/text-table.ts'

interface PruneOptions extends DatabaseOptions {
  readonly olderThan: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** Runs in one transaction: some seconds of work, so that an interrupted prune has done most of it. */
const BATCH_RUNS = 2000

/** Adds `starflow prune`. */
export function addPruneCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('prune')
      .description('Delete runs on step queues that ended long ago, with their tasks and archived messages.')
      .requiredOption('--older-than <interval>', 'how long ago, as Postgres reads it: 30days, 6months')
      .option('--dry-run', 'delete nothing; count what would go')
      .option('--yes', 'delete without asking'),
  ).action((options: PruneOptions) => runPrune(options, outputFor(options)))
}

async function runPrune(options: PruneOptions, output: Output): Promise<void> {
  await withDatabase(options, async ({ sql, source }) => {
    const { olderThan } = options
    const found = await prune(sql, olderThan, { dryRun: true })
    const runs = `${formatCount(found)} ${found === 1 ? 'run' : 'runs'} that ended more than ${olderThan} ago`
    if (options.dryRun || found === 0) {
      output.line(`${options.dryRun ? 'Would be deleted' : 'Nothing to delete'} (database of ${source}): ${runs}.`)
      output.result({ deleted: false, runs: found, olderThan })
      return
    }
    if (
      !options.yes &&
      !(await askYesOrNo(output, `Delete ${runs} from the database of ${source}? There is no way back.`))
    )
      throw notConfirmed(runs)
    let deleted = 0
    for (let batch = BATCH_RUNS; batch === BATCH_RUNS; ) {
      batch = await prune(sql, olderThan, { dryRun: false })
      deleted += batch
      if (batch === BATCH_RUNS) output.line(`${formatCount(deleted)} of ${formatCount(found)} runs are deleted …`)
    }
    output.line(`${formatCount(deleted)} ${deleted === 1 ? 'run is' : 'runs are'} deleted.`)
    output.result({ deleted: true, runs: deleted, olderThan })
  })
}

async function prune(sql: Sql, olderThan: string, { dryRun }: { readonly dryRun: boolean }): Promise<number> {
  const [row] = await sql<[{ runs: string }]>`
    select pgflow.prune_data_older_than(${olderThan}::text::interval, ${BATCH_RUNS}, ${dryRun}) as runs`.catch(
    (error: { code?: unknown }) => {
      // invalid_datetime_format, datetime_field_overflow, invalid_parameter_value
      throw ['22007', '22008', '22015', '22023'].includes(String(error.code)) ? notAnInterval(olderThan) : error
    },
  )
  return Number(row.runs)
}

function notAnInterval(olderThan: string): StarflowError {
  return new StarflowError({
    code: 'SF610',
    message: `"${olderThan}" is not an interval.`,
    detail: '--older-than takes what Postgres reads as an interval.',
    hint: 'For example: npx starflow prune --older-than 30days --dry-run',
  })
}

function notConfirmed(runs: string): StarflowError {
  return new StarflowError({
    code: 'SF622',
    message: 'No run was deleted: nobody confirmed it.',
    detail: `It is about ${runs}, and there is no way back.`,
    hint: 'Run again with --yes, or with --dry-run to see how many would go.',
  })
}
