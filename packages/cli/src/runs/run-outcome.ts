import type { Json } from '@starflow/dsl'
import type { RunRecord, WaitRecord } from '@starflow/engine'
import { EXIT_CODES, type ExitCode } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { formatDuration } from '../output/text-table.ts'
import type { RunStore } from './run-store.ts'

/** A run as programs read it. */
export interface RunDescription {
  readonly runId: string
  readonly flow: string
  readonly status: RunRecord['status']
  readonly output: Json
  readonly error: string | null
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
  return { runId, flow: templateId, status, output, error, durationMs, waits }
}

/** Says how a run stands, and what may be done with it. Returns the exit code that says the same. */
export async function showOutcome(
  store: RunStore,
  run: RunRecord,
  how: { readonly module?: string | undefined; readonly tokens?: Tokens },
  output: Output,
): Promise<ExitCode> {
  const { runId, status } = run
  const resume = `npx starflow run ${how.module === undefined ? '' : `${how.module} `}--resume ${runId}`
  const after = run.durationMs === null ? '' : ` after ${formatDuration(run.durationMs)}`
  switch (status) {
    case 'success':
      output.line(`${output.colors.green('Succeeded')}${after}.`)
      output.line(JSON.stringify(run.output, null, 2))
      return EXIT_CODES.ok
    case 'error':
      tell(output, `${output.colors.red('Failed')}${after}: ${run.error}`)
      if (store.isKept) tell(output, `  hint: npx starflow runs retry ${runId}, then ${resume}`)
      return EXIT_CODES.failed
    case 'cancelled':
      tell(output, 'It was cancelled.')
      return EXIT_CODES.failed
    case 'paused': {
      const waits = await openWaitsOf(store, run)
      if (waits.length === 0) break
      for (const { nodeId, dueAt } of waits) {
        output.line(`Waits for ${nodeId}${dueAt === null ? '' : `, until ${dueAt}`}.`)
        const token = how.tokens?.get(nodeId)
        if (token !== undefined) output.line(`  token: ${token}`)
      }
      if (!store.isKept) {
        tell(output, 'Nothing of it was kept. Run it without --memory, or with --wait and a store that others reach.')
        return EXIT_CODES.waiting
      }
      output.line(`  npx starflow waits approve ${runId}`)
      output.line(`  ${resume}`)
      return EXIT_CODES.waiting
    }
  }
  tell(output, store.isKept ? `It can go on: ${resume}` : 'Nothing of it was kept.')
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
