/** A stretch of time, in milliseconds since 1970. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}

export interface TimePoint {
  readonly at: number
  /** Null: nothing is known of that instant. */
  readonly value: number | null
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
]

/** The round number that a chart ends with, at least 1; its half is round too. */
export function niceMax(max: number): number {
  if (max <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(max))
  return [1, 2, 3, 4, 6, 8, 10].map((factor) => factor * power).find((candidate) => candidate >= max) as number
}

/** Round instants within a range, at most `count` of them; round in the time of whoever looks. */
export function timeTicks({ from, to }: TimeRange, count: number, offsetMinutes: number): readonly number[] {
  const step = STEPS.find((candidate) => (to - from) / candidate <= count) ?? DAY * Math.ceil((to - from) / DAY / count)
  const shift = offsetMinutes * MINUTE
  const first = Math.ceil((from - shift) / step) * step + shift
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step)
}

/** The point nearest to an instant, among those that are known. */
export function nearestPoint<TPoint extends { readonly at: number }>(
  points: readonly TPoint[],
  at: number,
): TPoint | undefined {
  return points.reduce<TPoint | undefined>(
    (best, point) => (best === undefined || Math.abs(point.at - at) < Math.abs(best.at - at) ? point : best),
    undefined,
  )
}

/** The usual distance between points: the median, so that a gap does not count. */
export function usualGap(points: readonly { readonly at: number }[]): number {
  const gaps = points
    .slice(1)
    .map(({ at }, index) => at - (points[index] as { at: number }).at)
    .sort((a, b) => a - b)
  return gaps[Math.floor(gaps.length / 2)] ?? 0
}

/** Points that follow one another without a gap. A line is not drawn over what is not known. */
export function segments(points: readonly TimePoint[], maxGap: number): readonly (readonly KnownPoint[])[] {
  const found: KnownPoint[][] = []
  let last: KnownPoint | undefined
  for (const { at, value } of points) {
    const point = value === null ? undefined : { at, value }
    if (point !== undefined) {
      if (last === undefined || at - last.at > maxGap) found.push([])
      found.at(-1)?.push(point)
    }
    last = point
  }
  return found
}

export interface KnownPoint {
  readonly at: number
  readonly value: number
}
