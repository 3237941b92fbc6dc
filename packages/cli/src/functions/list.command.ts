import { readFunctions } from '@starflow/core/operations'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output } from '../output/output.ts'
import { formatDuration, formatFineDuration, textTable } from '../output/text-table.ts'

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
        { title: 'tasks/life', align: 'right' } as const,
        { title: 'CPU/task', align: 'right' } as const,
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
      each.lastInvokedAt === null ? '' : `${formatDuration(Date.now() - each.lastInvokedAt.getTime())} ago`,
      each.tasksPerLife === null ? '' : each.tasksPerLife.toFixed(1),
      each.cpuMsPerTask === null ? '' : formatFineDuration(each.cpuMsPerTask),
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

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
