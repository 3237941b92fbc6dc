import type { Sql } from '@starflow/core'

/** A run that has ended. Its input and output are not told: they may be large, and secret. */
export interface EndedRun {
  readonly runId: string
  readonly flowSlug: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  /** When, by the clock of the database. */
  readonly endedAt: string
  readonly durationMs: number
  /** The first step that failed. */
  readonly failedStep: string | null
}

export interface RunWatchOptions {
  readonly sql: Sql
  /** Called with the runs that have ended since the last look, in the order of their ends; never with none. */
  readonly onEnded: (runs: readonly EndedRun[]) => void
  readonly intervalMs?: number
}

const INTERVAL_MS = 1_000
/** No index has the ends of runs: where two looks in a row take long, looks are rare. One alone was held up by something else. */
const MOST_OF_THE_TIME = 1 / 50
const MAX_PAUSE_MS = 10_000
/** A run that ended in a transaction is seen when that has committed. */
const LATE_BY = '10 seconds'

/** Tells each run that ends from `start` on, once. A database that is away is asked again later. */
export class RunWatch {
  readonly #options: RunWatchOptions
  /** Those of the last look: what ended shortly before is looked at again. A run may end again, when it is retried. */
  #told = new Set<string>()
  #since: string | undefined
  #startedAt: string | undefined
  #lastLookTookMs = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = true

  constructor(options: RunWatchOptions) {
    this.#options = options
  }

  start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    void this.#lookOn()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  async #lookOn(): Promise<void> {
    const begun = performance.now()
    const ended = await this.#look().catch(() => [])
    if (this.#isStopped) return
    if (ended.length > 0) this.#options.onEnded(ended)
    const tookMs = performance.now() - begun
    const fairMs = Math.min(tookMs, this.#lastLookTookMs) / MOST_OF_THE_TIME
    this.#lastLookTookMs = tookMs
    const pauseMs = Math.max(this.#options.intervalMs ?? INTERVAL_MS, Math.min(fairMs, MAX_PAUSE_MS))
    this.#timer = setTimeout(() => void this.#lookOn(), pauseMs).unref()
  }

  /** The first look only finds out what time it is. */
  async #look(): Promise<EndedRun[]> {
    const { sql } = this.#options
    const [clock] = await sql<[{ now: string }]>`select clock_timestamp()::text as now`
    this.#startedAt ??= clock.now
    const since = this.#since ?? this.#startedAt
    const ended = await sql<EndedRun[]>`
      select r.run_id as "runId", r.flow_slug as "flowSlug", r.status, e.ended_at::text as "endedAt",
             extract(epoch from e.ended_at - r.started_at)::float8 * 1000 as "durationMs",
             (select s.step_slug from pgflow.step_states s where s.run_id = r.run_id and s.status = 'failed'
              order by s.failed_at limit 1) as "failedStep"
      from pgflow.runs r
      cross join lateral (select coalesce(r.completed_at, r.failed_at, r.cancelled_at)) e(ended_at)
      where r.status <> 'started'
        and e.ended_at >= greatest(${this.#startedAt}::timestamptz, ${since}::timestamptz - ${LATE_BY}::interval)
      order by e.ended_at`
    const fresh = ended.filter((run) => !this.#told.has(nameOf(run)))
    this.#since = clock.now
    this.#told = new Set(ended.map(nameOf))
    return fresh
  }
}

function nameOf({ runId, endedAt }: EndedRun): string {
  return `${runId} ${endedAt}`
}
