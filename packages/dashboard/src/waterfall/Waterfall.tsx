import { classNames } from '../design/class-names.ts'
import { statusLook } from '../design/status-look.ts'
import { useElementWidth } from '../design/use-element-width.ts'
import { VisuallyHidden } from '../design/VisuallyHidden.tsx'
import { formatDuration } from '../format/duration.ts'
import { timeTicks } from './time-axis.ts'
import styles from './Waterfall.module.css'
import type { Portion, PortionKind, Waterfall as WaterfallModel, WaterfallRow } from './waterfall.ts'

const WORDS: Readonly<Record<PortionKind, string>> = {
  waiting: 'waiting',
  delayed: 'delayed',
  running: 'running',
  open: 'open',
}
/** So many are drawn where one looks only. */
const MANY_ROWS = 100
/** Ticks stand no closer than this. */
const TICK_WIDTH = 84

/** The steps of a run and their attempts as bars on a time axis; a row leads to its step. */
export function Waterfall({
  model,
  selected,
  onSelect,
}: {
  readonly model: WaterfallModel
  readonly selected: string | null
  readonly onSelect: (step: string | null) => void
}) {
  const [axis, width] = useElementWidth<HTMLDivElement>()
  const ticks = width === 0 ? [] : timeTicks(model.lengthMs, Math.max(2, Math.floor(width / TICK_WIDTH)))
  const place = (ms: number) => `${(100 * ms) / model.lengthMs}%`
  const kinds = [...new Set(model.rows.flatMap(({ portions }) => portions.map(({ kind }) => kind)))]
  return (
    <div className={styles.waterfall}>
      <div className={styles.head}>
        <ul className={styles.legend} aria-label="What the bars mean">
          {kinds.map((kind) => (
            <li key={kind}>
              <span className={classNames(styles.key, styles[kind])} /> {WORDS[kind]}
            </li>
          ))}
        </ul>
        <div ref={axis} className={styles.axis} aria-hidden="true">
          {ticks.map(({ at, label }) => (
            <span key={at} className={styles.tick} style={{ left: place(at) }}>
              {label}
            </span>
          ))}
        </div>
      </div>
      <div className={styles.body}>
        <div className={styles.lines} aria-hidden="true">
          {ticks.map(({ at }) => (
            <span key={at} style={{ left: place(at) }} />
          ))}
        </div>
        <ol className={classNames(model.rows.length > MANY_ROWS && styles.many)}>
          {model.rows.map((row) => (
            <Row key={row.id} row={row} place={place} isSelected={row.step === selected} onSelect={onSelect} />
          ))}
        </ol>
      </div>
    </div>
  )
}

function Row({
  row,
  place,
  isSelected,
  onSelect,
}: {
  readonly row: WaterfallRow
  readonly place: (ms: number) => string
  readonly isSelected: boolean
  readonly onSelect: (step: string | null) => void
}) {
  const look = statusLook(row.status)
  const took = tookMs(row)
  const name = row.attempt === null ? row.step : `attempt ${row.attempt}`
  const story = row.portions.map(({ kind, from, to }) => `${WORDS[kind]} ${formatDuration(to - from)}`).join(', ')
  return (
    <li>
      <button
        type="button"
        className={classNames(styles.row, row.attempt !== null && styles.attempt, styles[look.tone])}
        aria-current={isSelected}
        title={story}
        onClick={() => onSelect(isSelected ? null : row.step)}
      >
        <span className={styles.label}>
          <svg className={styles.mark} width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
            <path d={look.mark} />
          </svg>
          <span className={styles.name}>{name}</span>
        </span>
        <span className={styles.track}>
          {row.portions.map((portion) => (
            <Bar key={`${portion.kind} ${portion.from}`} portion={portion} place={place} />
          ))}
        </span>
        <span className={styles.duration}>{took === null ? '' : formatDuration(took)}</span>
        <VisuallyHidden>
          {row.attempt === null ? '' : `of ${row.step}, `}
          {look.word}: {story}
        </VisuallyHidden>
      </button>
    </li>
  )
}

/** From the beginning of the work on, whatever it waited before. Null: nobody has begun. */
function tookMs({ portions }: WaterfallRow): number | null {
  const begun = portions.find(({ kind }) => kind === 'running' || kind === 'open')
  return begun === undefined ? null : portions.at(-1)!.to - begun.from
}

function Bar({ portion, place }: { readonly portion: Portion; readonly place: (ms: number) => string }) {
  const { kind, status, from, to, isOpen } = portion
  return (
    <span
      className={classNames(styles.bar, styles[kind], styles[statusLook(status).tone], isOpen && styles.goesOn)}
      style={{ left: place(from), width: place(to - from) }}
    />
  )
}
