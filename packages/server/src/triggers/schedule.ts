import { Cron } from 'croner'
import { SCHEDULE_GRACE_MS } from '../numbers.ts'
import type { TriggerDeclaration } from './declarations.ts'
import { NightGaps } from './night-gaps.ts'

/**
 * The instants of a cron pattern in its time zone.
 *
 * Where clocks go forward, a time of day that does not exist fires at the end of the gap. Where they go back, a time of day
 * that comes twice fires at its first; what repeats through the hour (a step, a list or a star in hours or minutes) fires in both.
 */
export class Schedule {
  readonly #cron: Cron
  readonly #gaps: NightGaps | undefined

  constructor({ cron, timeZone }: Pick<TriggerDeclaration, 'cron' | 'timeZone'>) {
    this.#cron = new Cron(cron, { timezone: timeZone, paused: true })
    this.#gaps = namesHours(cron) ? new NightGaps(cron, timeZone) : undefined
  }

  /** The first instant behind this one; undefined when there is none any more. */
  next(after: Date): Date | undefined {
    const next = this.#cron.nextRun(after) ?? undefined
    const [inGap] = next === undefined || this.#gaps === undefined ? [] : this.#gaps.instants(after, next)
    return inGap ?? next
  }

  /** The latest instants behind `after` up to `until`, oldest first, `limit` at most. */
  latest(after: Date, until: Date, limit: number): Date[] {
    // What croner calls previous is before the second of its reference.
    const behind = new Date(until.getTime() + 1000)
    const instants = this.#cron.previousRuns(limit + 1, behind).filter((instant) => instant <= until && instant > after)
    // Where the limit cuts, what lies before the oldest is none of the latest.
    const since = instants.length > limit ? (instants.at(-1) as Date) : after
    const inGaps = this.#gaps?.instants(since, until) ?? []
    const times = new Set([...instants, ...inGaps].map((instant) => instant.getTime()))
    const latest = [...times].sort((a, b) => b - a).slice(0, limit)
    return latest.reverse().map((time) => new Date(time))
  }
}

/**
 * What of a schedule is due: every instant that is seen on time, and of those that were missed what the catch-up rule says. Both
 * instants are of the clock of the database. One that goes back fires nothing twice: nothing lies behind `firedUntil` then.
 */
export function dueInstants(
  schedule: Schedule,
  { catchUp, catchUpLimit }: Pick<TriggerDeclaration, 'catchUp' | 'catchUpLimit'>,
  { firedUntil, now }: { readonly firedUntil: Date; readonly now: Date },
): Date[] {
  const missedUntil = new Date(Math.max(firedUntil.getTime(), now.getTime() - SCHEDULE_GRACE_MS))
  const onTime = schedule.latest(missedUntil, now, SCHEDULE_GRACE_MS / 1000)
  if (catchUp === 'none' || (catchUp === 'last' && onTime.length > 0)) return onTime
  const missed = schedule.latest(firedUntil, missedUntil, catchUp === 'last' ? 1 : catchUpLimit)
  return [...missed, ...onTime]
}

/** A pattern that repeats through the hours says no time of day: what it misses in a gap, it makes up for behind it. */
function namesHours(cron: string): boolean {
  const fields = cron.trim().split(/\s+/)
  return !fields[fields.length - 4]!.includes('*')
}

/** Why a pattern cannot be a schedule; undefined when it can. */
export function scheduleProblem(pattern: string): string | undefined {
  if (!/^\s*(?:\S+\s+){4,5}\S+\s*$/.test(pattern)) return 'must have five fields, or six with seconds first'
  try {
    return new Cron(pattern, { paused: true }).nextRun() === null ? 'never comes' : undefined
  } catch (error) {
    return `is not a cron pattern (${(error as Error).message.replace(/^CronPattern: /, '')})`
  }
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return name !== ''
  } catch {
    return false
  }
}
