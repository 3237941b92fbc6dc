import { exactJsonText, type Json } from '@starflow/dsl'
import type { RunRecord, WaitRecord } from '@starflow/engine'
import type { Placement } from '@starflow/server/runs'
import { EXIT_CODES, type ExitCode } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { formatDuration } from '../output/text-table.ts'
import { EventFollower } from './event-follower.ts'
import type { RunStore } from './run-store.ts'

/** A run as programs read it. */
export interface RunDescription {
  readonly runId: string
  readonly flow: string
  readonly placement: Placement
  readonly status: RunRecord['status']
  readonly output: Json
  readonly error: string | null
  /** Of a run that was cancelled. */
  readonly cancelReason: string | null
  readonly durationMs: number | null
  /** Those that stand open. */
  readonly waits: readonly { readonly step: string; readonly dueAt: string | null; readonly token?: string }[]
}

type Tokens = ReadonlyMap<string, string>

const NO_TOKENS: Tokens = new Map()

export async function describeRun(store: RunStore, run: RunRecord, tokens = NO_TOKENS): Promise<RunDescription> {
  const { runId, templateId, status, output, error, durationMs } = run
  const waits = (await openWaitsOf(store, run)).map(({ nodeId, dueAt }) => {
    const token = tokens.get(nodeId)
    return { step: nodeId, dueAt, ...(token === undefined ? {} : { token }) }
  })
  const cancelReason = await cancelReasonOf(store, run)
  return { runId, flow: templateId, placement: 'runner', status, output, error, cancelReason, durationMs, waits }
}

/** Says how a run stands, and what may be done with it. Returns the exit code that says the same. */
export function showOutcome(
  { isKept }: Pick<RunStore, 'isKept'>,
  run: RunDescription,
  module: string | undefined,
  output: Output,
): ExitCode {
  const { runId, status, waits } = run
  const resume = `npx starflow run ${module === undefined ? '' : `${module} `}--resume ${runId}`
  const after = run.durationMs === null ? '' : ` after ${formatDuration(run.durationMs)}`
  switch (status) {
    case 'success':
      output.line(`${output.colors.green('Succeeded')}${after}.`)
      output.line(exactJsonText(run.output, 2))
      return EXIT_CODES.ok
    case 'error':
      tell(output, `${output.colors.red('Failed')}${after}: ${run.error}`)
      // Workers of step queues go on by themselves.
      if (isKept)
        tell(output, `  hint: npx starflow runs retry ${runId}${run.placement === 'queue' ? '' : `, then ${resume}`}`)
      return EXIT_CODES.failed
    case 'cancelled':
      tell(output, run.cancelReason === null ? 'It was cancelled.' : `It was cancelled: ${run.cancelReason}`)
      return EXIT_CODES.failed
    case 'paused': {
      if (waits.length === 0) break
      for (const { step, dueAt, token } of waits) {
        output.line(`Waits for ${step}${dueAt === null ? '' : `, until ${dueAt}`}.`)
        if (token !== undefined) output.line(`  token: ${token}`)
      }
      if (!isKept) {
        tell(output, 'Nothing of it was kept. Run it without --memory, or with --wait and a store that others reach.')
        return EXIT_CODES.waiting
      }
      output.line(`  npx starflow waits approve ${runId}`)
      output.line(`  ${resume}`)
      return EXIT_CODES.waiting
    }
  }
  tell(output, isKept ? `It can go on: ${resume}` : 'Nothing of it was kept.')
  return EXIT_CODES.interrupted
}

/** With `--json` the object says it. */
function tell(output: Output, text: string): void {
  if (!output.json) output.problem(text)
}

async function openWaitsOf({ adapter }: RunStore, { runId, status }: RunRecord): Promise<readonly WaitRecord[]> {
  if (status !== 'paused') return []
  return (await adapter.readWaits(runId)).filter((wait) => wait.status === 'open')
}

/** It stands in the event alone. Of several cancellations, with retries between them, the last one counts. */
async function cancelReasonOf({ adapter }: RunStore, { runId, status }: RunRecord): Promise<string | null> {
  if (status !== 'cancelled') return null
  let reason: string | null = null
  await new EventFollower(adapter, runId, (events) => {
    for (const { type, payload } of events) {
      if (type === 'run_cancelled') reason = payload?.reason === undefined ? null : String(payload.reason)
    }
  }).catchUp()
  return reason
}
