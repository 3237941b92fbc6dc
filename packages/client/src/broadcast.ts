import type { RunStatus, StepStatus } from './run-state.ts'

/** A broadcast of a run, as far as it can be read. */
export interface RunBroadcast {
  readonly status: string
  /** Undefined: it is about the run itself. */
  readonly stepSlug: string | undefined
  /** Something was left out, because the broadcast would have been too large. */
  readonly isIncomplete: boolean
  readonly payload: Readonly<Record<string, unknown>>
}

/** What came over a channel of a run; undefined for what is not ours. */
export function parseBroadcast(payload: unknown, runId: string): RunBroadcast | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const fields = payload as Readonly<Record<string, unknown>>
  const { run_id, status, event_type, step_slug, omitted } = fields
  if (run_id !== runId || typeof status !== 'string' || typeof event_type !== 'string') return undefined
  const isStep = event_type.startsWith('step:')
  if (isStep !== (typeof step_slug === 'string')) return undefined
  return {
    status: status satisfies string as RunStatus | StepStatus,
    stepSlug: isStep ? (step_slug as string) : undefined,
    isIncomplete: Array.isArray(omitted) && omitted.length > 0,
    payload: fields,
  }
}
