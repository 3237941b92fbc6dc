import { OPERATOR_CALL_TIMEOUT_MS, type Sql } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
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

/** Runs of each placement in one transaction: some seconds of work, so that an interrupted prune has done most of it. */
const BATCH_RUNS = 2000

/** Adds `starflow prune`. */
export function addPruneCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('prune')
      .description('Delete runs that ended long ago, on step queues and on runners, with all that belongs to them.')
      .requiredOption('--older-than <interval>', 'how long ago, as Postgres reads it: 30days, 6months')
      .option('--dry-run', 'delete nothing; count what would go')
      .option('--yes', 'delete without asking'),
  ).action((options: PruneOptions) => runPrune(options, outputFor(options)))
}

async function runPrune(options: PruneOptions, output: Output): Promise<void> {
  await withDatabase({ ...options, callTimeoutMs: OPERATOR_CALL_TIMEOUT_MS }, async ({ sql, source }) => {
    const { olderThan } = options
    const { onQueues, onRunners } = await count(sql, olderThan)
    const found = onQueues + onRunners
    const runs = `${formatCount(found)} ${found === 1 ? 'run' : 'runs'} that ended more than ${olderThan} ago`
    const parts =
      found === 0 ? '' : `, ${formatCount(onQueues)} on step queues and ${formatCount(onRunners)} on runners`
    if (options.dryRun || found === 0) {
      output.line(
        `${options.dryRun ? 'Would be deleted' : 'Nothing to delete'} (database of ${source}): ${runs}${parts}.`,
      )
      output.result({ deleted: false, runs: found, onQueues, onRunners, olderThan })
      return
    }
    if (
      !options.yes &&
      !(await askYesOrNo(output, `Delete ${runs}${parts}, from the database of ${source}? There is no way back.`))
    )
      throw notConfirmed(runs)
    let deleted = 0
    for (let batch = BATCH_RUNS; batch >= BATCH_RUNS; ) {
      batch = await prune(sql, olderThan)
      deleted += batch
      if (batch >= BATCH_RUNS) output.line(`${formatCount(deleted)} of ${formatCount(found)} runs are deleted …`)
    }
    output.line(`${formatCount(deleted)} ${deleted === 1 ? 'run is' : 'runs are'} deleted.`)
    output.result({ deleted: true, runs: deleted, olderThan })
  })
}

async function count(sql: Sql, olderThan: string): Promise<{ readonly onQueues: number; readonly onRunners: number }> {
  const [row] = await sql<[{ runs: string; onRunners: string }]>`
    select pgflow.prune_data_older_than(i.given, dry_run => true) as runs, starflow.prune_runs(i.given, dry_run => true) as "onRunners"
    from (select ${olderThan}::text::interval) i(given)`.catch((error: { code?: unknown }) => {
    // invalid_datetime_format, datetime_field_overflow, invalid_parameter_value
    throw ['22007', '22008', '22015', '22023'].includes(String(error.code)) ? notAnInterval(olderThan) : error
  })
  const onRunners = Number(row.onRunners)
  return { onQueues: Number(row.runs) - onRunners, onRunners }
}

async function prune(sql: Sql, olderThan: string): Promise<number> {
  const [row] = await sql<[{ runs: string }]>`
    select pgflow.prune_data_older_than(${olderThan}::text::interval, ${BATCH_RUNS}) as runs`
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
