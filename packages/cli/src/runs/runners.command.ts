import { readLeases, readRunners, readUnservedRuns, type UnservedView } from '@starflow/server/runs'
import type { Command } from 'commander'
import type { Output, OutputFor } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'
import { scopeOf } from './all-runs.ts'
import { nameArgument } from './name-argument.ts'
import { pageSize } from './page-size.ts'
import { withRunStore } from './run-store.ts'

interface RunnersOptions {
  readonly workspace?: string
  readonly limit: string
  readonly json?: boolean
}

/** Adds `starflow runners`. */
export function addRunnersCommand(program: Command, outputFor: OutputFor): void {
  program
    .command('runners')
    .description('List the runners of the last day, the runs that they hold, and queued runs that none of them serves.')
    .option('--workspace <name>', 'runs of this workspace only (default: of all)', nameArgument('--workspace'))
    .option('--limit <runs>', 'how many runs of each kind at most', '20')
    .option('--json', 'print one JSON object')
    .action((options: RunnersOptions) => runRunners(options, outputFor(options)))
}

async function runRunners(options: RunnersOptions, output: Output): Promise<void> {
  const [scope, limit] = [scopeOf(options.workspace), pageSize(options.limit)]
  const [runners, leases, unserved] = await withRunStore(({ adapter }) =>
    Promise.all([readRunners(adapter), readLeases(adapter, scope, limit), readUnservedRuns(adapter, scope, limit)]),
  )
  output.result({ runners, leases, unserved })
  const now = Date.now()
  const since = (instant: string) => `${formatDuration(Math.max(0, now - Date.parse(instant)))} ago`
  table(
    output,
    'No runner was heard of within the last day.',
    ['runner', 'state', 'pool', 'runs', 'heard of'],
    [
      ...runners.map(({ runnerId, isLive, isAccepting, pool, runs, capacity, lastHeartbeat }) => [
        ...[
          runnerId,
          isLive ? (isAccepting ? 'live' : 'takes no runs') : 'silent',
          pool ?? '',
          `${runs} of ${capacity}`,
          since(lastHeartbeat),
        ],
      ]),
    ],
  )
  table(
    output,
    'No runner holds a run.',
    ['run', 'flow', 'held by', 'state', 'claims', 'until'],
    [
      ...leases.map(({ runId, flow, runner, state, claims, leaseUntil }) => [
        ...[runId, flow, runner, state, String(claims), leaseUntil],
      ]),
    ],
  )
  table(
    output,
    'Every queued run is served.',
    ['queued run', 'flow', 'pool', 'not served', 'queued'],
    [
      ...unserved.map(({ runId, flow, pool, reason, detail, queuedAt }) => [
        ...[runId, flow, pool ?? '', detail ?? REASONS[reason], since(queuedAt)],
      ]),
    ],
  )
}

const REASONS: Readonly<Record<UnservedView['reason'], string>> = {
  no_runner: 'no runner lives that takes new runs',
  refused: 'a runner refuses the flow',
  other_definition: 'no live runner has its code',
  other_pool: 'no live runner is of its pool',
}

function table(output: Output, none: string, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const columns = titles.map((title) => ({ title }))
  for (const line of rows.length === 0 ? [none] : textTable(columns, rows)) output.line(line)
  output.line()
}
