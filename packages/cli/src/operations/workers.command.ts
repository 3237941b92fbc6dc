import { readWorkers } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'

const SHOWN = 200

/** Adds `starflow workers`. */
export function addWorkersCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('workers')
      .description('List the workers that live or are finishing.')
      .option('--all', `also those that have stopped or fallen silent, the ${SHOWN} youngest`),
  ).action((options: DatabaseOptions & { all?: boolean; json?: boolean }) => runWorkers(options, outputFor(options)))
}

async function runWorkers(options: DatabaseOptions & { all?: boolean }, output: Output): Promise<void> {
  const workers = await withDatabase(options, ({ sql }) =>
    readWorkers(sql, { all: options.all === true, limit: SHOWN }),
  )
  output.result({ workers })
  const lines = textTable(
    [
      ...[{ title: 'worker' }, { title: 'function' }, { title: 'queue' }, { title: 'state' }],
      ...[{ title: 'age', align: 'right' } as const, { title: 'heard of', align: 'right' } as const],
    ],
    workers.map((each) => [
      each.workerId,
      each.functionName,
      each.queueName,
      each.state,
      formatDuration(each.ageSeconds * 1000),
      `${formatDuration(each.heartbeatSecondsAgo * 1000)} ago`,
    ]),
  )
  for (const line of workers.length === 0 ? ['No worker lives.'] : lines) output.line(line)
}
