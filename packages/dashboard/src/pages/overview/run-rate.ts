import type { Overview } from '../../api/overview.ts'

type Minute = Overview['runs']['minutes'][number]

/** How many of the last whole minutes the rate is told of: short enough to be now, long enough not to jump. */
const RATE_MINUTES = 5

/** Runs started per minute, over the last whole minutes: the one that is under way would pull it down. */
export function startsPerMinute(minutes: readonly Minute[]): number {
  const whole = minutes.slice(0, -1).slice(-RATE_MINUTES)
  return whole.length === 0 ? 0 : whole.reduce((sum, { started }) => sum + started, 0) / whole.length
}

export function totalOf(minutes: readonly Minute[], kind: 'started' | 'failed'): number {
  return minutes.reduce((sum, minute) => sum + minute[kind], 0)
}

/** How serious the lag of the warm tier is: the design warns at 2 s and pages at 30 s. */
export function lagTone(oldestMs: number): 'warn' | 'bad' | undefined {
  if (oldestMs >= 30_000) return 'bad'
  return oldestMs >= 2_000 ? 'warn' : undefined
}
