import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { EVERY_WORKSPACE, type WorkspaceScope } from '../../api/scope.ts'
import { Button, buttonClass } from '../../design/Button.tsx'
import { EmptyState } from '../../design/EmptyState.tsx'
import { ErrorState } from '../../design/ErrorState.tsx'
import { Skeleton } from '../../design/Skeleton.tsx'
import { countOf, formatCount } from '../../format/count.ts'
import { BulkActions } from './BulkActions.tsx'
import styles from './RunList.module.css'
import { RunRow } from './RunRow.tsx'
import { isFiltered, type RunFilter } from './run-filter.ts'
import { allOrNone, extended, NOTHING_SELECTED, type Selection, toggled } from './selection.ts'
import { useRunList } from './use-run-list.ts'

/** Rows are of one height, so that the list knows its length without drawing them. */
const ROW_HEIGHT = 40
const CARD_HEIGHT = 68
const NARROW = '(max-width: 40rem)'
/** Rows are asked for when one sees as far as so many before the last. */
const AHEAD = 30
/** Pages in a row that brought nothing, until one has to ask for more: a search may look at all runs there ever were. */
const MOST_EMPTY_PAGES = 8

export interface RunListProps {
  readonly scope: WorkspaceScope
  readonly filter: RunFilter
  readonly onChange: (changes: Partial<RunFilter>) => void
}

export function RunList({ scope, filter, onChange }: RunListProps) {
  const isNarrow = useMediaQuery(NARROW)
  const frame = useRef<HTMLDivElement>(null)
  const [offset, setOffset] = useState(0)
  useLayoutEffect(() => {
    setOffset((frame.current?.getBoundingClientRect().top ?? 0) + window.scrollY)
  }, [])
  const [lookedAt, setLookedAt] = useState(0)
  const list = useRunList(scope, filter, lookedAt)
  const { runs, isLast, isLoadingMore, loadMore } = list
  const height = isNarrow ? CARD_HEIGHT : ROW_HEIGHT
  const virtualizer = useWindowVirtualizer({
    count: runs.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => runs[index]!.runId,
  })
  // Rows are measured anew when their height changes.
  useEffect(() => virtualizer.measure(), [height])
  const items = virtualizer.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? -1
  useEffect(() => setLookedAt(Math.floor((first + Math.max(first, last)) / 2)), [first, last])

  const emptyPages = useRef(0)
  const [isGivenUp, setGivenUp] = useState(false)
  const before = useRef(runs.length)
  const isWanted = !list.isLoading && list.error === null && !isLast && !isLoadingMore && last + AHEAD >= runs.length
  useEffect(() => {
    if (!isWanted || isGivenUp) return
    emptyPages.current = runs.length === before.current ? emptyPages.current + 1 : 0
    before.current = runs.length
    if (emptyPages.current > MOST_EMPTY_PAGES) setGivenUp(true)
    else loadMore()
  }, [isWanted, isGivenUp, runs.length, loadMore])

  const [selection, setSelection] = useState<Selection>(NOTHING_SELECTED)
  const order = runs.map(({ runId }) => runId)
  const [current, setCurrent] = useState<string | null>(null)
  const focusWanted = useRef<string | null>(null)
  const goTo = (index: number) => {
    const run = runs[Math.max(0, Math.min(runs.length - 1, index))]
    if (run === undefined) return
    focusWanted.current = run.runId
    setCurrent(run.runId)
    virtualizer.scrollToIndex(runs.indexOf(run), { align: 'auto' })
  }
  // The row may be drawn only after the list has been scrolled to it.
  useEffect(() => {
    if (focusWanted.current === null) return
    const link = frame.current?.querySelector<HTMLElement>(`[data-run="${focusWanted.current}"] a`)
    if (link === undefined || link === null) return
    link.focus({ preventScroll: true })
    focusWanted.current = null
  })
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const index = current === null ? -1 : order.indexOf(current)
    const steps: Readonly<Record<string, number>> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined) goTo(index + step)
    else if (event.key === 'Home') goTo(0)
    else if (event.key === 'End') goTo(runs.length - 1)
    else if (event.key.toLowerCase() === 'x' && current !== null) {
      setSelection((old) => (event.shiftKey ? extended(old, current, order) : toggled(old, current)))
    } else if (event.key === 'Escape' && selection.ids.size > 0) setSelection(NOTHING_SELECTED)
    else return
    event.preventDefault()
  }
  useListKeys(current === null || runs.length === 0, () => goTo(first))

  const showsWorkspace = scope === EVERY_WORKSPACE
  const isAll = order.length > 0 && order.every((id) => selection.ids.has(id))
  return (
    <div className={styles.list}>
      <div className={styles.above}>
        <p className={styles.count} role="status">
          {list.isLoading
            ? 'Loading …'
            : `${formatCount(runs.length)}${isLast ? '' : '+'} ${runs.length === 1 && isLast ? 'run' : 'runs'}`}
        </p>
        {list.newer.count > 0 && (
          <Button
            size="small"
            kind="quiet"
            className={styles.newer}
            onClick={() => {
              list.showNewer()
              window.scrollTo({ top: 0 })
            }}
          >
            ↑ {list.newer.isWhole ? countOf(list.newer.count, 'new run') : `more than ${list.newer.count} new runs`}
          </Button>
        )}
        <p className={styles.keys} aria-hidden="true">
          <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> opens <kbd>x</kbd> selects
        </p>
      </div>
      {list.error !== null && runs.length === 0 ? (
        <ErrorState error={list.error} onRetry={list.retry} />
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: the keys are for the links within.
        <div ref={frame} className={styles.frame} onKeyDown={onKey}>
          {/* biome-ignore lint/a11y/useSemanticElements: rows are drawn where one looks; a table element has all of them. */}
          <div
            role="table"
            aria-label="Runs"
            aria-rowcount={isLast ? runs.length + 1 : -1}
            className={styles.table}
            data-workspace={showsWorkspace}
          >
            <Head
              showsWorkspace={showsWorkspace}
              isAll={isAll}
              isSome={selection.ids.size > 0}
              onToggle={() => setSelection((old) => allOrNone(old, order))}
            />
            {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
            <div role="rowgroup" className={styles.rows} style={{ height: virtualizer.getTotalSize() }}>
              {items.map(({ index, start, key }) => {
                const run = runs[index]!
                return (
                  <RunRow
                    key={key}
                    run={run}
                    index={index}
                    top={start - offset}
                    height={height}
                    showsWorkspace={showsWorkspace}
                    isSelected={selection.ids.has(run.runId)}
                    isCurrent={current === null ? index === first : run.runId === current}
                    onFocus={() => setCurrent(run.runId)}
                    onSelect={(isRange) =>
                      setSelection((old) => (isRange ? extended(old, run.runId, order) : toggled(old, run.runId)))
                    }
                  />
                )
              })}
            </div>
          </div>
          {list.isLoading && <Skeleton lines={12} height="1.75rem" />}
          {!list.isLoading && runs.length === 0 && isLast && <NoRuns filter={filter} onChange={onChange} />}
          <Foot
            isLast={isLast}
            isEmpty={runs.length === 0}
            error={list.error}
            isGivenUp={isGivenUp}
            onMore={() => {
              emptyPages.current = 0
              setGivenUp(false)
              if (list.error !== null) list.loadMore()
            }}
          />
        </div>
      )}
      {selection.ids.size > 0 && (
        <BulkActions
          runs={runs.filter(({ runId }) => selection.ids.has(runId))}
          onDone={(ids) => setSelection({ ids: new Set(ids), anchor: null })}
        />
      )}
    </div>
  )
}

function Head({
  showsWorkspace,
  isAll,
  isSome,
  onToggle,
}: {
  readonly showsWorkspace: boolean
  readonly isAll: boolean
  readonly isSome: boolean
  readonly onToggle: () => void
}) {
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = isSome && !isAll
  }, [isSome, isAll])
  const titles = ['Status', 'Flow', 'Run', ...(showsWorkspace ? ['Workspace'] : []), 'Started', 'Duration', 'On']
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above.
    <div role="rowgroup">
      {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: a row is none that one acts on. */}
      <div role="row" className={styles.head}>
        {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: see above. */}
        <span role="columnheader">
          <label className={styles.chooseAll}>
            <input
              ref={box}
              type="checkbox"
              aria-label="Select all that are loaded"
              checked={isAll}
              onChange={onToggle}
            />
            <span>Select all</span>
          </label>
        </span>
        {titles.map((title) => (
          // biome-ignore lint/a11y/useSemanticElements: see above.
          // biome-ignore lint/a11y/useFocusableInteractive: see above.
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
      </div>
    </div>
  )
}

function NoRuns({ filter, onChange }: Pick<RunListProps, 'filter' | 'onChange'>) {
  if (!isFiltered(filter)) {
    return (
      <EmptyState
        title="No run has been started yet."
        action={
          <Link to="/flows" className={buttonClass({ kind: 'primary' })}>
            Choose a flow to start
          </Link>
        }
      >
        Runs are started here, in SQL with <code>pgflow.start_flow</code>, over HTTP, by webhooks and on schedules.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No run fits these filters."
      action={
        (filter.since !== undefined || filter.from !== undefined) && (
          <Button onClick={() => onChange({ since: undefined, from: undefined, until: undefined })}>
            Look at all times
          </Button>
        )
      }
    >
      A text is looked for in flow slugs and errors, and as the beginning of run ids.
    </EmptyState>
  )
}

function Foot({
  isLast,
  isEmpty,
  error,
  isGivenUp,
  onMore,
}: {
  readonly isLast: boolean
  readonly isEmpty: boolean
  readonly error: unknown
  readonly isGivenUp: boolean
  readonly onMore: () => void
}) {
  if (error !== null && !isEmpty) return <ErrorState error={error} onRetry={onMore} />
  if (isGivenUp) {
    return (
      <p className={styles.foot}>
        {isEmpty ? 'Nothing found so far.' : 'Nothing more found so far.'}{' '}
        <Button size="small" onClick={onMore}>
          Look further back
        </Button>
      </p>
    )
  }
  if (isEmpty && isLast) return null
  return <p className={styles.foot}>{isLast ? 'These are all.' : 'Loading more …'}</p>
}

/** The first of the keys that move leads into the list, wherever one is. */
function useListKeys(isOutside: boolean, enter: () => void): void {
  const latest = useRef(enter)
  latest.current = enter
  useEffect(() => {
    if (!isOutside) return
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.target !== document.body || (event.key !== 'j' && event.key !== 'k')) return
      event.preventDefault()
      latest.current()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isOutside])
}

function useMediaQuery(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches)
  useEffect(() => {
    const media = window.matchMedia(query)
    const update = () => setMatches(media.matches)
    media.addEventListener('change', update)
    return () => media.removeEventListener('change', update)
  }, [query])
  return matches
}
