import { readFunctions, readWorkers } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatCount, formatDuration, formatFineDuration, textTable } from '../output/text-table.ts'

const SHOWN = 200
/** Of the last error of a function; `--json` has all of it. */
const ERROR_WIDTH = 80

/** Adds `starflow workers`. */
export function addWorkersCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('workers')
      .description(
        'List the workers that live or are finishing, and the functions that host them with their CPU per task and the error of their last start.',
      )
      .option('--all', `also those that have stopped or fallen silent, the ${SHOWN} youngest`),
  ).action((options: DatabaseOptions & { all?: boolean; json?: boolean }) => runWorkers(options, outputFor(options)))
}

async function runWorkers(options: DatabaseOptions & { all?: boolean }, output: Output): Promise<void> {
  const [workers, functions] = await withDatabase(options, ({ sql }) =>
    Promise.all([readWorkers(sql, { all: options.all === true, limit: SHOWN }), readFunctions(sql)]),
  )
  output.result({ workers, functions })
  const lines = textTable(
    [
      ...[{ title: 'worker' }, { title: 'function' }, { title: 'queue' }, { title: 'state' }],
      ...[{ title: 'age', align: 'right' } as const, { title: 'heard of', align: 'right' } as const],
      ...[{ title: 'tasks', align: 'right' } as const, { title: 'CPU/task', align: 'right' } as const],
    ],
    workers.map((each) => [
      each.workerId,
      each.functionName,
      each.queueName,
      each.state,
      formatDuration(each.ageSeconds * 1000),
      `${formatDuration(each.heartbeatSecondsAgo * 1000)} ago`,
      each.tasks === null ? '' : formatCount(each.tasks),
      each.cpuMsPerTask === null ? '' : formatFineDuration(each.cpuMsPerTask),
    ]),
  )
  for (const line of workers.length === 0 ? ['No worker lives.'] : lines) output.line(line)
  if (functions.length === 0) return
  output.line()
  for (const line of textTable(
    [
      ...[{ title: 'function' }, { title: 'start' }, { title: 'live workers', align: 'right' } as const],
      ...[{ title: 'CPU/task', align: 'right' } as const, { title: 'fence' }, { title: 'last error' }],
    ],
    functions.map((each) => [
      ...[each.functionName, each.startMode, String(each.liveWorkers)],
      each.cpuMsPerTask === null ? '' : formatFineDuration(each.cpuMsPerTask),
      each.enabled ? '' : each.fencedBy === null ? (each.disabledReason ?? 'disabled') : `by ${each.fencedBy}`,
      each.lastError === null
        ? ''
        : `${each.failedStarts === 0 ? '(over) ' : ''}${each.lastError.split('\n', 1)[0]!.slice(0, ERROR_WIDTH)}`,
    ]),
  )) {
    output.line(line)
  }
}
