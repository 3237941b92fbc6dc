export interface Tick {
  /** Milliseconds from the beginning of the axis. */
  readonly at: number
  readonly label: string
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** What people count time in. Milliseconds below, days above go on in ones, twos and fives. */
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].map((count) => count * DAY),
]

/** Round instants on an axis of some length, as many as have room, from zero on. */
export function timeTicks(lengthMs: number, most: number): readonly Tick[] {
  const step = STEPS.find((each) => lengthMs / each <= Math.max(1, most)) ?? STEPS.at(-1)!
  const ticks: Tick[] = []
  for (let at = 0; at <= lengthMs; at += step) ticks.push({ at, label: tickLabel(at, step) })
  return ticks
}

/** In the unit of the step, so that the labels of an axis read as one row. */
function tickLabel(at: number, step: number): string {
  if (at === 0) return '0'
  if (step < SECOND) return at < SECOND ? `${at} ms` : `${at / SECOND} s`
  if (step < MINUTE) return at < MINUTE ? `${at / SECOND} s` : parts(at, MINUTE, 'm', SECOND, 's')
  if (step < HOUR) return at < HOUR ? `${at / MINUTE} m` : parts(at, HOUR, 'h', MINUTE, 'm')
  if (step < DAY) return at < DAY ? `${at / HOUR} h` : parts(at, DAY, 'd', HOUR, 'h')
  return `${at / DAY} d`
}

function parts(at: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.round((at % large) / small)
  const whole = `${Math.floor(at / large)} ${largeUnit}`
  return rest === 0 ? whole : `${whole} ${rest} ${smallUnit}`
}
