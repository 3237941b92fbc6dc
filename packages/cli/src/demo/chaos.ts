import type { Sql } from '@starflow/core'

/** A live worker that has started at least one task and not reported it. Times are of the database's clock. */
export interface BusyWorker {
  readonly workerId: string
  /** The isolate that it lives in. */
  readonly executionId: string
  readonly step: string
  readonly queue: string
  readonly registeredAtMs: number
}

export interface ChaosView {
  readonly busy: readonly BusyWorker[]
  readonly nowMs: number
  /** True once no step of the runs waits to be started any more. */
  readonly lastStepsStarted: boolean
}

interface ChaosOptions {
  /** What can be killed now. */
  readonly look: () => Promise<ChaosView>
  /** Kills the process behind a worker at once; false when it was gone already. */
  readonly kill: (worker: BusyWorker) => boolean | Promise<boolean>
  /** Told of each kill, and how many it makes. */
  readonly onKill?: (worker: BusyWorker, killed: number) => void
  /** Called when a look or a kill fails; chaos goes on. */
  readonly onError?: (error: unknown) => void
  /** From 0 to below 1. */
  readonly random?: () => number
  readonly minKills?: number
  /** How it goes about its first `minKills`, and how after them. */
  readonly paces?: { readonly first: ChaosPace; readonly later: ChaosPace }
}

export interface ChaosPace {
  /** About how long it rests between two looks: half of it to one and a half. */
  readonly restMs: number
  /** How long a worker has lived at least when it is killed, by the database's clock. */
  readonly minAgeMs: number
}

/** A chaos that could not kill so many showed less than it promises, and the summary says so. */
export const MIN_KILLS = 5

/**
 * Keen at first: the demo lets documents in by portions until the kills are had. Then it looks at random moments and spares young
 * workers: a fresh worker is slow at its first tasks, and a killer that waits for them takes the same tasks down again and
 * again, until they have no attempt left.
 */
const PACES = { first: { restMs: 50, minAgeMs: 1_000 }, later: { restMs: 1_000, minAgeMs: 2_500 } } as const

/**
 * Kills random workers in the middle of their work, to show that none of it is lost: never a second one of a queue before
 * the queue has a new worker, at least `minKills` in all, and on until every run has started its last step.
 */
export class Chaos {
  readonly #options: ChaosOptions
  readonly #killedIds = new Set<string>()
  /** When the last worker of a queue was killed; a worker that registered later lifts the ban on the queue. */
  readonly #killedAtMs = new Map<string, number>()
  #stopped: AbortController | undefined
  #loop: Promise<void> | undefined

  constructor(options: ChaosOptions) {
    this.#options = options
  }

  get killed(): number {
    return this.#killedIds.size
  }

  get killedWorkerIds(): readonly string[] {
    return [...this.#killedIds]
  }

  start(): void {
    if (this.#loop !== undefined) return
    this.#stopped = new AbortController()
    this.#loop = this.#run(this.#stopped.signal)
  }

  async stop(): Promise<void> {
    this.#stopped?.abort()
    await this.#loop
    this.#loop = undefined
  }

  async #run(stopped: AbortSignal): Promise<void> {
    const { random = Math.random, onError } = this.#options
    while (!stopped.aborted) {
      await rest(this.#pace.restMs * (0.5 + random()), stopped)
      if (stopped.aborted) return
      try {
        if ((await this.killOne()) === 'over') return
      } catch (error) {
        onError?.(error)
      }
    }
  }

  /** One look, and a kill if somebody may be killed. */
  async killOne(): Promise<'killed' | 'nobody' | 'over'> {
    const { look, kill, onKill, random = Math.random, minKills = MIN_KILLS } = this.#options
    const view = await look()
    if (view.lastStepsStarted && this.killed >= minKills) return 'over'
    const candidates = view.busy.filter((worker) => this.#mayKill(worker, view.nowMs))
    const victim = candidates[Math.floor(random() * candidates.length)]
    if (victim === undefined || !(await kill(victim))) return 'nobody'
    this.#killedIds.add(victim.workerId)
    this.#killedAtMs.set(victim.queue, view.nowMs)
    onKill?.(victim, this.killed)
    return 'killed'
  }

  get #pace(): ChaosPace {
    const { paces = PACES, minKills = MIN_KILLS } = this.#options
    return this.killed < minKills ? paces.first : paces.later
  }

  #mayKill({ workerId, queue, registeredAtMs }: BusyWorker, nowMs: number): boolean {
    if (nowMs - registeredAtMs < this.#pace.minAgeMs) return false
    const killedAtMs = this.#killedAtMs.get(queue)
    return !this.#killedIds.has(workerId) && (killedAtMs === undefined || registeredAtMs > killedAtMs)
  }
}

/** Reads what chaos may kill among the workers of the given runs. */
export async function lookForBusyWorkers(sql: Sql, runIds: readonly string[]): Promise<ChaosView> {
  const [row] = await sql<[ChaosView]>`
    with busy as (
      select distinct workers.worker_id, workers.execution_id, workers.queue_name, workers.started_at, step_tasks.step_slug
      from pgflow.step_tasks
      join pgflow.workers on workers.worker_id = step_tasks.last_worker_id
      where step_tasks.run_id = any(${runIds as string[]}::uuid[])
        and step_tasks.status = 'started'
        and workers.stopped_at is null
        and workers.last_heartbeat_at > now() - interval '12 seconds'
    )
    select
      coalesce((select jsonb_agg(jsonb_build_object(
        'workerId', worker_id,
        'executionId', execution_id,
        'step', step_slug,
        'queue', queue_name,
        'registeredAtMs', extract(epoch from started_at) * 1000
      )) from busy), '[]') as busy,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
      not exists (
        select from pgflow.step_states
        where run_id = any(${runIds as string[]}::uuid[]) and status = 'created'
      ) as "lastStepsStarted"
  `
  return row
}

function rest(milliseconds: number, stopped: AbortSignal): Promise<void> {
  if (stopped.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      stopped.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    stopped.addEventListener('abort', end)
  })
}
