import { Cron } from 'croner'

/** When a job is due, in milliseconds since the epoch. */
export interface CronSchedule {
  /** The first time after `from` at which the job is due; for an interval `from` is its last start. */
  nextAfter(from: number): number
}

const INTERVAL = /^\s*(\d+)\s+seconds?\s*$/i
/** The names that pg_cron takes and croner does not know. */
const ALIASES: Readonly<Record<string, string>> = { '@midnight': '@daily', '@annually': '@yearly' }

/**
 * Reads a schedule of pg_cron: `N seconds`, or the five fields of cron in UTC. Gives undefined for what it does not
 * understand: `cron.schedule` has refused it long before, so it can only come from a newer extension.
 */
export function parseCronSchedule(text: string): CronSchedule | undefined {
  const seconds = INTERVAL.exec(text)?.[1]
  if (seconds !== undefined) {
    const intervalMs = Number(seconds) * 1000
    return intervalMs > 0 ? { nextAfter: (from) => from + intervalMs } : undefined
  }
  const pattern = text.trim().toLowerCase()
  try {
    const cron = new Cron(ALIASES[pattern] ?? pattern, { timezone: 'UTC', paused: true })
    // A date that never comes (30 February) is valid, and never due.
    return { nextAfter: (from) => cron.nextRun(new Date(from))?.getTime() ?? Number.POSITIVE_INFINITY }
  } catch {
    return undefined
  }
}
