import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import { Status } from '../../design/Status.tsx'
import { Duration, RelativeTime } from '../../design/Time.tsx'
import styles from './RunList.module.css'
import type { RunSummary } from './run-queries.ts'

export interface RunRowProps {
  readonly run: RunSummary
  readonly index: number
  readonly top: number
  readonly height: number
  readonly showsWorkspace: boolean
  readonly isSelected: boolean
  /** The one that the keys of the list are about. */
  readonly isCurrent: boolean
  readonly onFocus: () => void
  readonly onSelect: (isRange: boolean) => void
}

/** A run in one line; in two where it is narrow. All of it leads to the run. */
export const RunRow = memo(function RunRow(props: RunRowProps) {
  const { run, index, top, height, showsWorkspace, isSelected, isCurrent, onFocus, onSelect } = props
  const tabIndex = isCurrent ? 0 : -1
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are drawn where one looks; a table element has all of them.
    // biome-ignore lint/a11y/useFocusableInteractive: its link is.
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={styles.row}
      data-run={run.runId}
      style={{ transform: `translateY(${top}px)`, height }}
      onFocus={onFocus}
    >
      <Cell name="choose">
        <input
          type="checkbox"
          aria-label={`Select run ${shortId(run.runId)}`}
          tabIndex={tabIndex}
          checked={isSelected}
          onClick={(event) => onSelect(event.shiftKey)}
          // What a click does is told by the click, which knows of the shift key.
          onChange={() => {}}
        />
      </Cell>
      <Cell name="status">
        <Status status={run.status} />
      </Cell>
      <Cell name="flow">
        <Link to="/runs/$runId" params={{ runId: run.runId }} className={styles.link} tabIndex={tabIndex}>
          {run.flow}
        </Link>
        {run.error !== null && <span className={styles.error}>{run.error}</span>}
      </Cell>
      <Cell name="id">
        <code title={run.runId}>{shortId(run.runId)}</code>
      </Cell>
      {showsWorkspace && <Cell name="workspace">{run.workspace ?? <span className={styles.none}>–</span>}</Cell>}
      <Cell name="started">
        <RelativeTime at={run.createdAt} />
      </Cell>
      <Cell name="duration">
        {run.startedAt === null ? (
          <span className={styles.none}>–</span>
        ) : (
          <Duration from={run.startedAt} to={run.endedAt} />
        )}
      </Cell>
      <Cell name="placement">{run.placement === 'queue' ? 'queues' : (run.pool ?? 'runner')}</Cell>
    </div>
  )
})

function Cell({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above.
    <span role="cell" className={styles[name]}>
      {children}
    </span>
  )
}

/** The end of an id tells runs apart: the beginning is the time. */
export function shortId(runId: string): string {
  return runId.slice(-12)
}
