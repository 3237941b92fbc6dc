import { OPERATOR_CALL_TIMEOUT_MS, type Sql } from '@starflow/core'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatCount, formatNumberOf } from '../output/text-table.ts'

interface RepairOptions extends DatabaseOptions {
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** Runs of one transaction, about a second of work: a run that a repair holds waits for it. */
const BATCH_RUNS = 5_000

/** Adds `starflow repair`. */
export function addRepairCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('repair')
      .description(
        'After a restore or a queue dropped by hand: make missing queues again and send lost messages again.',
      )
      .option('--dry-run', 'change nothing; count what is lost'),
  ).action((options: RepairOptions) => runRepair(options, outputFor(options)))
}

async function runRepair(options: RepairOptions, output: Output): Promise<void> {
  await withDatabase({ ...options, callTimeoutMs: OPERATOR_CALL_TIMEOUT_MS }, async ({ sql, source }) => {
    const lost = await lostTasks(sql)
    const found = lost.reduce((sum, { tasks }) => sum + tasks, 0)
    if (options.dryRun) {
      output.line(`${formatNumberOf(found, 'task')} without a message (database of ${source}). Nothing was changed.`)
      output.result({ repaired: false, lost: found })
      return
    }
    const queues = (await sql<{ name: string }[]>`select pgflow.restore_queues() as name`).map(({ name }) => name)
    if (queues.length > 0) output.line(`Made again: ${queues.join(', ')}.`)
    const sent = await sendAgain(
      sql,
      lost.map(({ runId }) => runId),
      (count) => output.line(`${formatCount(count)} of ${formatNumberOf(found, 'message')} sent again …`),
    )
    const left = (await lostTasks(sql)).reduce((sum, { tasks }) => sum + tasks, 0)
    output.line(
      `${formatNumberOf(sent, 'message')} sent again${left === 0 ? '' : `; ${formatNumberOf(left, 'task')} left`}.`,
    )
    output.result({ repaired: true, queues, sent, left })
    if (left > 0) {
      output.problem('What is left, and why: npx starflow doctor')
      throw new CommandEnded(EXIT_CODES.failed)
    }
  })
}

/** The tasks that have no message, by run. */
async function lostTasks(sql: Sql): Promise<readonly { readonly runId: string; readonly tasks: number }[]> {
  return await sql<{ runId: string; tasks: number }[]>`
    select run_id as "runId", count(*)::integer as tasks from pgflow.liveness_audit where kind = 'task' group by run_id order by run_id`
}

/** Batch by batch, each in a separate transaction, so that workers go on meanwhile and an interrupted repair has done most of it. */
async function sendAgain(sql: Sql, runIds: readonly string[], onProgress: (sent: number) => void): Promise<number> {
  let sent = 0
  for (let from = 0; from < runIds.length; from += BATCH_RUNS) {
    const batch = runIds.slice(from, from + BATCH_RUNS)
    for (let more = 1; more > 0; ) {
      const [row] = await sql<[{ sent: number }]>`select pgflow.repair_liveness(${batch}) as sent`
      more = row.sent
      sent += more
    }
    onProgress(sent)
  }
  return sent
}
