import { type PointerEvent, useState } from 'react'
import { classNames } from '../design/class-names.ts'
import { useElementWidth } from '../design/use-element-width.ts'
import { formatClock, formatDay, formatInstant } from '../format/instant.ts'
import styles from './TimeChart.module.css'
import { nearestPoint, niceMax, segments, type TimePoint, type TimeRange, timeTicks, usualGap } from './time-scale.ts'

export interface TimeSeries {
  readonly name: string
  readonly tone: 'active' | 'held' | 'bad' | 'quiet' | 'good'
  readonly points: readonly TimePoint[]
  /** `line` for what is at an instant, `bar` for what happened in the time before it. */
  readonly mark: 'line' | 'bar'
}

export interface TimeChartProps {
  readonly title: string
  /** Bars stand on one another in this order; lines are over them. */
  readonly series: readonly TimeSeries[]
  readonly range: TimeRange
  readonly format: (value: number) => string
  readonly height?: number
  /** The instant that is looked at, where several charts share one. */
  readonly lookedAt?: number | undefined
  readonly onLook?: (at: number | undefined) => void
}

const LEFT = 44
const RIGHT = 8
const TOP = 8
const BOTTOM = 20

/** How something went over time. What it shows is told in words too: the last values, and the largest. */
export function TimeChart(props: TimeChartProps) {
  const { title, series, range, format, height = 132 } = props
  const [frame, width] = useElementWidth<HTMLDivElement>()
  const [ownLook, setOwnLook] = useState<number>()
  const lookedAt = props.onLook === undefined ? ownLook : props.lookedAt
  const look = props.onLook ?? setOwnLook

  const bars = series.filter(({ mark }) => mark === 'bar')
  const max = niceMax(
    Math.max(
      0,
      ...stackHeights(bars),
      ...series.flatMap(({ mark, points }) => (mark === 'line' ? points.map(({ value }) => value ?? 0) : [])),
    ),
  )
  const plot = { left: LEFT, right: Math.max(LEFT + 1, width - RIGHT), top: TOP, bottom: height - BOTTOM }
  const x = (at: number) => plot.left + ((at - range.from) / (range.to - range.from)) * (plot.right - plot.left)
  const y = (value: number) => plot.bottom - (value / max) * (plot.bottom - plot.top)
  // One at the edge would be cut off.
  const ticks = timeTicks(range, Math.max(2, Math.floor(width / 110)), new Date(range.to).getTimezoneOffset()).filter(
    (at) => x(at) < width - 18,
  )
  const shown = lookedAt === undefined ? undefined : nearestPoint(series[0]?.points ?? [], lookedAt)?.at
  const onMove = (event: PointerEvent<SVGSVGElement>) => {
    const left = event.currentTarget.getBoundingClientRect().left
    look(range.from + ((event.clientX - left - plot.left) / (plot.right - plot.left)) * (range.to - range.from))
  }

  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>
        <span className={styles.title}>{title}</span>
        <span className={styles.legend}>
          {series.map(({ name, tone, points }) => (
            <span key={name} className={styles.entry}>
              {series.length > 1 && (
                <>
                  <span className={classNames(styles.swatch, styles[tone])} aria-hidden="true" />
                  {name}
                </>
              )}
              <b className={styles.value}>{shownValue(points, shown, format)}</b>
            </span>
          ))}
        </span>
        <span className={styles.when}>{shown === undefined ? '' : formatInstant(shown)}</span>
      </figcaption>
      <div ref={frame} className={styles.frame} style={{ height }}>
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`${title}. ${series.map((each) => inWords(each, format)).join(' ')}`}
            className={styles.chart}
            onPointerMove={onMove}
            onPointerLeave={() => look(undefined)}
          >
            {[0, max / 2, max].map((value) => (
              <g key={value}>
                <line className={styles.grid} x1={plot.left} x2={plot.right} y1={y(value)} y2={y(value)} />
                {(value !== max / 2 || Number.isInteger(value) || max < 1) && (
                  <text
                    className={styles.label}
                    x={plot.left - 6}
                    y={y(value)}
                    textAnchor="end"
                    dominantBaseline="middle"
                  >
                    {format(value)}
                  </text>
                )}
              </g>
            ))}
            {ticks.map((at) => (
              <text key={at} className={styles.label} x={x(at)} y={height - 4} textAnchor="middle">
                {range.to - range.from > 36 * 3_600_000 ? formatDay(at) : formatClock(at)}
              </text>
            ))}
            <Bars series={bars} x={x} y={y} />
            {series
              .filter(({ mark }) => mark === 'line')
              .map((each) => (
                <Line key={each.name} series={each} x={x} y={y} bottom={plot.bottom} />
              ))}
            {shown !== undefined && (
              <line className={styles.cursor} x1={x(shown)} x2={x(shown)} y1={plot.top} y2={plot.bottom} />
            )}
          </svg>
        )}
      </div>
    </figure>
  )
}

type Scale = (value: number) => number

function Line({ series, x, y, bottom }: { series: TimeSeries; x: Scale; y: Scale; bottom: number }) {
  const pieces = segments(series.points, usualGap(series.points) * 2.5 || Number.POSITIVE_INFINITY)
  const path = (points: readonly { at: number; value: number }[]) =>
    points
      .map(({ at, value }, index) => `${index === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`)
      .join('')
  return (
    <g className={styles[series.tone]}>
      {pieces.map((piece) => {
        const [first, last] = [piece[0], piece.at(-1)]
        if (first === undefined || last === undefined) return null
        // A single sample is a dot.
        if (first === last)
          return <circle key={first.at} className={styles.dot} cx={x(first.at)} cy={y(first.value)} r="1.5" />
        return (
          <g key={first.at}>
            <path className={styles.area} d={`${path(piece)}L${x(last.at)} ${bottom}L${x(first.at)} ${bottom}Z`} />
            <path className={styles.line} d={path(piece)} />
          </g>
        )
      })}
    </g>
  )
}

function Bars({ series, x, y }: { series: readonly TimeSeries[]; x: Scale; y: Scale }) {
  const [first] = series
  if (first === undefined) return null
  const gap = usualGap(first.points)
  return first.points.map(({ at }, index) => {
    let below = 0
    return series.map(({ name, tone, points }) => {
      const value = points[index]?.value ?? 0
      const top = y(below + value)
      const height = y(below) - top
      below += value
      if (value === 0) return null
      const width = Math.max(1, x(at + gap) - x(at) - 1)
      return (
        <rect
          key={`${name} ${at}`}
          className={classNames(styles.bar, styles[tone])}
          x={x(at)}
          y={top}
          width={width}
          height={Math.max(1, height)}
        />
      )
    })
  })
}

function stackHeights(bars: readonly TimeSeries[]): readonly number[] {
  return (bars[0]?.points ?? []).map((_, index) =>
    bars.reduce((sum, { points }) => sum + (points[index]?.value ?? 0), 0),
  )
}

/** At the instant that is looked at, else the last that is known. */
function shownValue(points: readonly TimePoint[], at: number | undefined, format: (value: number) => string): string {
  const known =
    at === undefined ? points.findLast(({ value }) => value !== null) : points.find((point) => point.at === at)
  return known?.value == null ? '–' : format(known.value)
}

function inWords({ name, points }: TimeSeries, format: (value: number) => string): string {
  const known = points.flatMap(({ value }) => (value === null ? [] : [value]))
  if (known.length === 0) return `${name}: nothing is known.`
  return `${name}: ${format(known.at(-1) as number)} at the end, ${format(Math.max(...known))} at most.`
}
