import { readOverview } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatDuration } from '../output/text-table.ts'
import { nameArgument } from '../runs/name-argument.ts'

interface OverviewOptions extends DatabaseOptions {
  readonly workspace?: string
}

/** Adds `starflow overview`. */
export function addOverviewCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('overview')
      .description('Show how all is: open runs, failures, queues in trouble, workers, and runs without a next actor.')
      .option('--workspace <name>', 'runs of this workspace only (default: of all)', nameArgument('--workspace')),
  ).action((options: OverviewOptions & { json?: boolean }) => runOverview(options, outputFor(options)))
}

async function runOverview(options: OverviewOptions, output: Output): Promise<void> {
  const overview = await withDatabase(options, ({ sql }) => readOverview(sql, options.workspace))
  output.result(overview)
  const { runs, queuesInTrouble, liveWorkers, runners, outbox, livenessProblems } = overview
  const total = (key: 'started' | 'failed') => runs.minutes.reduce((sum, minute) => sum + minute[key], 0)
  const { queued, running, paused } = runs.open
  output.line(`open runs     ${running} running, ${queued} queued, ${paused} paused; ${runs.openWaits} open waits`)
  output.line(`last hour     ${total('started')} started, ${total('failed')} failed`)
  output.line(`live workers  ${liveWorkers}`)
  output.line(`live runners  ${runners.live}, which hold ${runners.runs} runs of ${runners.capacity} at most`)
  if (outbox !== null) {
    output.line(`outbox        ${outbox.unapplied} writes unapplied, the oldest for ${formatDuration(outbox.oldestMs)}`)
  }
  output.line(`liveness      ${livenessProblems.length} open runs, steps or tasks without a next actor`)
  for (const { run_id, reason } of livenessProblems) output.line(`  ${run_id}: ${reason}`)
  output.line(`in trouble    ${queuesInTrouble.length} queues`)
  for (const { queueName, troubles } of queuesInTrouble) {
    output.line(`  ${queueName}: ${troubles.map((trouble) => trouble.replace('_', ' ')).join(', ')}`)
  }
}
