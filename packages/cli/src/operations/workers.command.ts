import type { Command } from 'commander'
import type { Sql } from 'postgres'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'

interface WorkerRow {
  readonly workerId: string
  readonly functionName: string
  readonly queueName: string
  /** live, finishing (told to stop), silent (no heartbeat, not stopped) or stopped. */
  readonly state: 'live' | 'finishing' | 'silent' | 'stopped'
  readonly startedAt: Date
  readonly ageSeconds: number
  readonly heartbeatSecondsAgo: number
}

const SHOWN = 200

/** Adds `starflow workers`. */
export function addWorkersCommand(program: Command, outputFor: (options: { json?: boolean }) => Output): void {
  withDatabaseOptions(
    program
      .command('workers')
      .description('List the workers that live or are finishing.')
      .option('--all', `also those that have stopped or fallen silent, the ${SHOWN} youngest`),
  ).action((options: DatabaseOptions & { all?: boolean; json?: boolean }) => runWorkers(options, outputFor(options)))
}

async function runWorkers(options: DatabaseOptions & { all?: boolean }, output: Output): Promise<void> {
  const workers = await withDatabase(options, ({ sql }) => readWorkers(sql, options.all === true))
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

async function readWorkers(sql: Sql, all: boolean): Promise<WorkerRow[]> {
  return await sql<WorkerRow[]>`
    select * from (
      select worker_id as "workerId", function_name as "functionName", queue_name as "queueName",
             case when stopped_at is not null then 'stopped'
                  when not pgflow._heartbeat_is_fresh(w) then 'silent'
                  when deprecated_at is not null then 'finishing'
                  else 'live' end as state,
             started_at as "startedAt", extract(epoch from now() - started_at)::float8 as "ageSeconds",
             extract(epoch from now() - last_heartbeat_at)::float8 as "heartbeatSecondsAgo"
      from pgflow.workers w
      where ${all} or stopped_at is null
    ) x
    where ${all} or state in ('live', 'finishing')
    order by "startedAt" desc
    limit ${SHOWN}`
}
