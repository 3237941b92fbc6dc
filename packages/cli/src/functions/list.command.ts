import type { Sql } from 'postgres'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'

interface FunctionRow {
  readonly functionName: string
  readonly startMode: 'http' | 'process'
  readonly enabled: boolean
  readonly fencedBy: string | null
  readonly disabledReason: string | null
  readonly queues: readonly string[]
  readonly liveWorkers: number
  readonly pingedSecondsAgo: number | null
  readonly failedStarts: number
  readonly lastError: string | null
}

/** `starflow functions list`: the worker functions that the database knows. */
export async function listFunctions(options: DatabaseOptions, output: Output): Promise<void> {
  const functions = await withDatabase(options, ({ sql }) => readFunctions(sql))
  output.result({ functions })
  const lines = textTable(
    [
      ...[{ title: 'function' }, { title: 'mode' }, { title: 'state' }, { title: 'queues' }],
      ...[
        { title: 'live', align: 'right' } as const,
        { title: 'pinged', align: 'right' } as const,
        { title: 'last error' },
      ],
    ],
    functions.map((each) => [
      each.functionName,
      each.startMode,
      each.enabled
        ? 'enabled'
        : each.fencedBy === null
          ? (each.disabledReason ?? 'disabled')
          : `fenced by ${each.fencedBy}`,
      each.queues.join(', '),
      String(each.liveWorkers),
      each.pingedSecondsAgo === null ? '' : `${formatDuration(each.pingedSecondsAgo * 1000)} ago`,
      each.lastError === null
        ? ''
        : `${each.failedStarts > 0 ? `${each.failedStarts} failed starts: ` : ''}${firstLine(each.lastError)}`,
    ]),
  )
  for (const line of functions.length === 0
    ? ['No worker function is known. Deploy them: npx starflow deploy']
    : lines) {
    output.line(line)
  }
}

async function readFunctions(sql: Sql): Promise<FunctionRow[]> {
  return await sql<FunctionRow[]>`
    select f.function_name as "functionName", f.start_mode as "startMode", f.enabled, f.fenced_by as "fencedBy",
           f.disabled_reason as "disabledReason",
           array(select q.queue_name || case when q.enabled then '' else ' (disabled)' end from pgflow.worker_function_queues q
                 where q.function_name = f.function_name order by q.queue_name) as queues,
           (select count(*)::integer from pgflow.workers w where w.function_name = f.function_name and w.stopped_at is null
              and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)) as "liveWorkers",
           extract(epoch from now() - f.last_invoked_at)::float8 as "pingedSecondsAgo",
           f.failed_starts as "failedStarts", f.last_error as "lastError"
    from pgflow.worker_functions f
    order by f.function_name`
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
