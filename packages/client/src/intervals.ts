/** How often a run that somebody waits for is read. */
export interface Intervals {
  /** While events come: a read renews the watch, which lasts five minutes, and finds what was lost on the way. */
  readonly refreshMs: number
  /** While no events come: the first time, doubling as long as nothing changes. */
  readonly pollMs: number
  readonly maxPollMs: number
  /** Before a channel that was closed is joined anew: the first time, doubling. */
  readonly rejoinMs: number
  readonly maxRejoinMs: number
}

export const DEFAULT_INTERVALS: Intervals = Object.freeze({
  refreshMs: 60_000,
  pollMs: 1_000,
  maxPollMs: 5_000,
  rejoinMs: 1_000,
  maxRejoinMs: 30_000,
})
