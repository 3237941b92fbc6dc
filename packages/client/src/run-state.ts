/** Where a run is. */
export type RunStatus = 'started' | 'completed' | 'failed' | 'cancelled'

/** Where a step of a run is. */
export type StepStatus = 'created' | 'started' | 'completed' | 'failed' | 'skipped'

/** Why a step was skipped. */
export type SkipReason = 'condition_unmet' | 'handler_failed' | 'dependency_skipped'

/** A run as the database has it. */
export interface RunState {
  readonly runId: string
  readonly flowSlug: string
  readonly status: RunStatus
  readonly input: unknown
  readonly output: unknown
  readonly startedAt: Date
  readonly completedAt: Date | null
  readonly failedAt: Date | null
  readonly cancelledAt: Date | null
  readonly cancelReason: string | null
}

/** A step of a run as the database has it. */
export interface StepState {
  readonly stepSlug: string
  readonly status: StepStatus
  readonly output: unknown
  readonly errorMessage: string | null
  readonly skipReason: SkipReason | null
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly failedAt: Date | null
  readonly skippedAt: Date | null
}

/** How the events of a run are sent. */
export type EventDelivery = 'private' | 'public' | 'off'

/** What one read of the database tells. */
export interface RunSnapshot {
  readonly run: RunState
  /** In the order of the flow. */
  readonly steps: readonly StepState[]
  readonly delivery: EventDelivery
}

type Row = Readonly<Record<string, unknown>>

/** The answer of get_run_with_states; null where there is no run that the caller may see. */
export function parseSnapshot(answer: unknown): RunSnapshot | null {
  if (answer === null || answer === undefined) return null
  const { run, steps, events } = answer as { run: Row; steps: readonly Row[]; events?: EventDelivery }
  // A database that does not say is of a time when all channels were public.
  return { run: parseRun(run), steps: steps.map(parseStep), delivery: events ?? 'public' }
}

/** A row of pgflow.runs. */
export function parseRun(row: Row): RunState {
  return {
    runId: row.run_id as string,
    flowSlug: row.flow_slug as string,
    status: row.status as RunStatus,
    input: row.input ?? null,
    output: row.output ?? null,
    startedAt: new Date(row.started_at as string),
    completedAt: instant(row.completed_at),
    failedAt: instant(row.failed_at),
    cancelledAt: instant(row.cancelled_at),
    cancelReason: (row.cancel_reason as string | null | undefined) ?? null,
  }
}

function parseStep(row: Row): StepState {
  return {
    stepSlug: row.step_slug as string,
    status: row.status as StepStatus,
    output: row.output ?? null,
    errorMessage: (row.error_message as string | null | undefined) ?? null,
    skipReason: (row.skip_reason as SkipReason | null | undefined) ?? null,
    startedAt: instant(row.started_at),
    completedAt: instant(row.completed_at),
    failedAt: instant(row.failed_at),
    skippedAt: instant(row.skipped_at),
  }
}

/** A time of the database; null for none. */
export function instant(value: unknown): Date | null {
  return typeof value === 'string' ? new Date(value) : null
}
