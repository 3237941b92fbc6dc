import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from '@starflow/dsl'
import { isStarflowError } from '@starflow/errors'
import { errorFields, type ServerLog } from '../log.ts'
import {
  FIRING_PRUNE_INTERVAL_MS,
  FIRING_RETENTION_MS,
  SCHEDULER_INTERVAL_MS,
  SCHEDULER_SHORTEST_SLEEP_MS,
} from '../numbers.ts'
import type { RunDirectory } from '../runs/run-directory.ts'
import type { Service } from '../service.ts'
import type { TriggerStore } from '../store/trigger-store.ts'
import type { TriggerDeclaration } from './declarations.ts'
import type { FiringKey } from './firing.ts'
import type { FiringStarter } from './firing-starter.ts'
import { dueInstants, Schedule } from './schedule.ts'

export interface SchedulerOptions {
  readonly triggers: Readonly<Record<string, TriggerDeclaration>>
  /** Whose the runs are. */
  readonly workspaceId: string
  readonly store: TriggerStore
  readonly runs: Pick<RunDirectory, 'placementOf' | 'read'>
  readonly starter: FiringStarter
  readonly log: ServerLog
}

interface NamedSchedule {
  readonly name: string
  readonly trigger: TriggerDeclaration
  readonly schedule: Schedule
}

/**
 * Fires schedules, beside any number of others that fire the same.
 *
 * The database is the authority: its clock says what is due, its row of the schedule says what has fired, and the unique row of
 * a firing says who starts the run. In this order: record, start, and only then advance the schedule, so that whoever dies in
 * between leaves behind what is still due (and recorded at most once), or what is recorded and still to be started.
 */
export class Scheduler implements Service {
  readonly name = 'scheduler'
  readonly #options: SchedulerOptions
  readonly #schedules: readonly NamedSchedule[]
  #stop: AbortController | undefined
  #loop: Promise<void> = Promise.resolve()
  #prunedAt = Number.NEGATIVE_INFINITY

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#schedules = Object.entries(options.triggers).map(([name, trigger]) => ({
      ...{ name, trigger },
      schedule: new Schedule(trigger),
    }))
  }

  start(): void {
    if (this.#stop !== undefined) return
    this.#stop = new AbortController()
    this.#loop = this.#run(this.#stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop?.abort()
    await this.#loop
    this.#stop = undefined
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const sleepMs = await this.look().catch((error: unknown) => {
        this.#options.log.warn(errorFields(error), 'scheduler.failed')
        return SCHEDULER_INTERVAL_MS
      })
      await pause(sleepMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Fires what is due, and starts what others left. Answers how long nothing will be due, as far as is known now. */
  async look(): Promise<number> {
    const { store, starter, workspaceId } = this.#options
    await starter.startForgotten(workspaceId)
    if (performance.now() - this.#prunedAt > FIRING_PRUNE_INTERVAL_MS) {
      await store.pruneFirings(FIRING_RETENTION_MS)
      this.#prunedAt = performance.now()
    }
    if (this.#schedules.length === 0) return SCHEDULER_INTERVAL_MS
    const { now, firedUntil } = await store.openSchedules(
      workspaceId,
      this.#schedules.map(({ name }) => name),
    )
    for (const each of this.#schedules) await this.#fireDue(each, firedUntil.get(each.name)!, now)
    const untilNext = this.#schedules.map(({ schedule }) => (schedule.next(now)?.getTime() ?? Infinity) - now.getTime())
    return Math.max(SCHEDULER_SHORTEST_SLEEP_MS, Math.min(SCHEDULER_INTERVAL_MS, ...untilNext))
  }

  /** One schedule that cannot fire keeps no other from firing, and is tried again: it has not advanced. */
  async #fireDue(each: NamedSchedule, firedUntil: Date, now: Date): Promise<void> {
    const { store, workspaceId, log } = this.#options
    const { name, trigger, schedule } = each
    const [latest] = schedule.latest(firedUntil, now, 1)
    if (latest === undefined) return
    try {
      for (const instant of dueInstants(schedule, trigger, { firedUntil, now }))
        await this.#fire(name, trigger, instant)
      await store.advanceSchedule(workspaceId, name, latest)
    } catch (error) {
      log.warn({ ...errorFields(error), trigger: name }, 'trigger.failed')
    }
  }

  async #fire(name: string, trigger: TriggerDeclaration, instant: Date): Promise<void> {
    const { store, starter, runs, workspaceId, log } = this.#options
    const { flow, env, pool } = trigger
    const key: FiringKey = { workspaceId, kind: 'schedule', name, occurrence: instant.toISOString() }
    const placement = await runs.placementOf(flow, trigger.placement, pool)
    // The cast: zod has read it from JSON.
    const start = { flow, input: trigger.input as Json, env, placement, pool: pool ?? null }
    const isSkipped = trigger.overlap === 'skip' && (await this.#isStillRunning(name))
    if (!(await store.recordInstant(key, start, isSkipped ? 'skipped' : 'recorded'))) return
    if (isSkipped) {
      log.info({ trigger: name, workspace: workspaceId, occurrence: key.occurrence }, 'trigger.skipped')
      return
    }
    // What failed is kept: a refusal with its code, anything else to be started later, by whoever looks first.
    await starter.start({ ...key, start }).catch((error: unknown) => {
      if (!isStarflowError(error)) log.warn({ ...errorFields(error), trigger: name }, 'trigger.start_failed')
    })
  }

  /** Of the firing before. One that is yet to be started counts as running. */
  async #isStillRunning(name: string): Promise<boolean> {
    const { store, runs, workspaceId } = this.#options
    const last = await store.lastFiring(workspaceId, name)
    if (last?.runId == null) return last !== undefined
    try {
      return (await runs.read({ workspaceId }, last.runId)).endedAt === null
    } catch (error) {
      // It was deleted.
      if (isStarflowError(error, 'SF802')) return false
      throw error
    }
  }
}
