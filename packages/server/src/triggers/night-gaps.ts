import { Cron } from 'croner'

const dayMs = 24 * 60 * 60_000

/**
 * Where clocks go forward over midnight (America/Nuuk, America/Scoresbysund), a time of day that does not exist has its gap end on
 * another day, which croner does not look at. These are the instants that it leaves out: the ends of such gaps that a pattern has a
 * time in.
 */
export class NightGaps {
  readonly #format: Intl.DateTimeFormat
  /** The pattern on a clock that is never changed: it tells which times of day there would be. */
  readonly #times: Cron

  constructor(cron: string, timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
    this.#times = new Cron(cron, { timezone: 'UTC', paused: true })
  }

  /** Behind `after` and before or at `until`, oldest first. */
  instants(after: Date, until: Date): Date[] {
    const found: Date[] = []
    for (let from = after.getTime(); from < until.getTime(); from += dayMs) {
      const to = Math.min(from + dayMs, until.getTime())
      const [before, behind] = [this.#offset(from), this.#offset(to)]
      if (behind <= before) continue
      const end = this.#changeBetween(from, to, before)
      const [gapBegins, gapEnds] = [end + before, end + behind]
      if (Math.floor(gapBegins / dayMs) === Math.floor(gapEnds / dayMs)) continue
      const time = this.#times.nextRun(new Date(gapBegins - 1000))
      if (time !== null && time.getTime() < gapEnds) found.push(new Date(end))
    }
    return found
  }

  /** The first second with another offset than the one before. */
  #changeBetween(from: number, to: number, before: number): number {
    let [low, high] = [Math.floor(from / 1000), Math.ceil(to / 1000)]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#offset(middle * 1000) === before) low = middle
      else high = middle
    }
    return high * 1000
  }

  /** What the clock on the wall is ahead of UTC. */
  #offset(time: number): number {
    const parts = Object.fromEntries(this.#format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year, month, day, hour, minute, second } = parts as Record<string, number>
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - Math.floor(time / 1000) * 1000
  }
}
