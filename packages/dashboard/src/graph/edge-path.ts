export interface Point {
  readonly x: number
  readonly y: number
}

/** The way that a graph grows. */
export type Direction = 'right' | 'down'

/** A curve through points that leaves and reaches each of them in the direction in which the graph grows; the `d` of an SVG path. */
export function edgePath(points: readonly Point[], direction: Direction): string {
  const [first, ...rest] = points
  if (first === undefined) return ''
  let from = first
  const parts = [`M${round(from.x)} ${round(from.y)}`]
  for (const to of rest) {
    parts.push(isStraight(from, to, direction) ? `L${round(to.x)} ${round(to.y)}` : bend(from, to, direction))
    from = to
  }
  return parts.join(' ')
}

function isStraight(from: Point, to: Point, direction: Direction): boolean {
  return direction === 'right' ? Math.abs(from.y - to.y) < 0.5 : Math.abs(from.x - to.x) < 0.5
}

function bend(from: Point, to: Point, direction: Direction): string {
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 }
  const [a, b] =
    direction === 'right'
      ? [
          { x: middle.x, y: from.y },
          { x: middle.x, y: to.y },
        ]
      : [
          { x: from.x, y: middle.y },
          { x: to.x, y: middle.y },
        ]
  return `C${[a, b, to].map(({ x, y }) => `${round(x)} ${round(y)}`).join(' ')}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
