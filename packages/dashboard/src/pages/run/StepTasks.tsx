import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { IconButton } from '../../design/Button.tsx'
import { ErrorState } from '../../design/ErrorState.tsx'
import { FilterSelect } from '../../design/Field.tsx'
import { Skeleton } from '../../design/Skeleton.tsx'
import { Status } from '../../design/Status.tsx'
import { Duration } from '../../design/Time.tsx'
import { formatCount } from '../../format/count.ts'
import { JsonPayload } from '../../json/JsonPayload.tsx'
import { useScope } from '../../shell/use-scope.ts'
import { Attempts } from './Attempts.tsx'
import type { RunDetail, StepView, TaskStatus, TaskView } from './run-queries.ts'
import { loadStepOutput } from './run-values.ts'
import styles from './StepTasks.module.css'
import { taskPagesQuery, taskQuery } from './task-queries.ts'

const ROW_HEIGHT = 30
const AHEAD = 40
const STATUSES: readonly TaskStatus[] = ['queued', 'started', 'completed', 'failed', 'skipped', 'cancelled']

interface StepTasksProps {
  readonly run: RunDetail
  readonly step: StepView
  readonly counts: NonNullable<StepView['tasks']>
  readonly selected: number | undefined
  readonly onSelect: (task: number | undefined) => void
}

/** The tasks of a map: one for each element, however many. */
export function StepTasks({ run, step, counts, selected, onSelect }: StepTasksProps) {
  const [status, setStatus] = useState<TaskStatus>()
  return (
    <section className={styles.tasks} aria-label="Tasks">
      <header className={styles.header}>
        <h3>
          Tasks <span className={styles.count}>{formatCount(counts.total)}</span>
        </h3>
        <FilterSelect
          label="Status"
          value={status ?? ''}
          onChange={({ target }) => setStatus(target.value === '' ? undefined : (target.value as TaskStatus))}
        >
          <option value="">all</option>
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {each}
              {each in counts ? ` (${formatCount(counts[each as keyof typeof counts])})` : ''}
            </option>
          ))}
        </FilterSelect>
      </header>
      {selected !== undefined && (
        <Task key={selected} run={run} step={step} task={selected} onClose={() => onSelect(undefined)} />
      )}
      <TaskTable key={status} run={run} step={step} status={status} selected={selected} onSelect={onSelect} />
    </section>
  )
}

function TaskTable({
  run,
  step,
  status,
  selected,
  onSelect,
}: Omit<StepTasksProps, 'counts'> & { readonly status: TaskStatus | undefined }) {
  const scope = useScope()
  const query = useInfiniteQuery(taskPagesQuery(scope, run.runId, step.step, status))
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const tasks = useMemo(() => data?.pages.flatMap((page) => page.tasks) ?? [], [data])
  const frame = useRef<HTMLElement>(null)
  const virtualizer = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
  })
  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last + AHEAD >= tasks.length) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, tasks.length])
  if (query.error !== null && tasks.length === 0) {
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  if (query.isPending) return <Skeleton lines={6} />
  if (tasks.length === 0)
    return <p className={styles.none}>{status === undefined ? 'There are none.' : `None is ${status}.`}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard.
    <section ref={frame} className={styles.frame} aria-label="List of tasks" tabIndex={0}>
      <ul className={styles.rows} style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ index, start }) => (
          <TaskRow
            key={tasks[index]!.task}
            task={tasks[index]!}
            top={start}
            isSelected={tasks[index]!.task === selected}
            onSelect={onSelect}
          />
        ))}
      </ul>
    </section>
  )
}

function TaskRow({
  task,
  top,
  isSelected,
  onSelect,
}: {
  readonly task: TaskView
  readonly top: number
  readonly isSelected: boolean
  readonly onSelect: (task: number | undefined) => void
}) {
  return (
    <li className={styles.item} style={{ transform: `translateY(${top}px)`, height: ROW_HEIGHT }}>
      <button
        type="button"
        className={styles.row}
        aria-pressed={isSelected}
        onClick={() => onSelect(isSelected ? undefined : task.task)}
      >
        <span className={styles.index}>[{task.task}]</span>
        <Status status={task.status} isPlain />
        <span className={styles.error}>{task.error}</span>
        {task.attempts.length > 1 && (
          <span className={styles.attempts} title={`${task.attempts.length} attempts`}>
            ×{task.attempts.length}
          </span>
        )}
        <span className={styles.took}>
          {task.startedAt !== null && <Duration from={task.startedAt} to={task.endedAt} />}
        </span>
      </button>
    </li>
  )
}

function Task({
  run,
  step,
  task,
  onClose,
}: {
  readonly run: RunDetail
  readonly step: StepView
  readonly task: number
  readonly onClose: () => void
}) {
  const scope = useScope()
  const { data, error, refetch } = useQuery(taskQuery(scope, run.runId, step.step, task))
  return (
    <section className={styles.task} aria-label={`Task ${task}`}>
      <header className={styles.header}>
        <h3>
          {step.step}[{task}]
        </h3>
        {data != null && <Status status={data.status} />}
        <IconButton icon="close" label="Close the task" size="small" onClick={onClose} className={styles.close} />
      </header>
      {error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton lines={3} />
      ) : data === null ? (
        <p className={styles.none}>There is no such task.</p>
      ) : (
        <>
          {data.outputBytes !== null && (
            <JsonPayload
              title="Output"
              fileName={`${run.flow}-${run.runId.slice(-12)}-${step.step}-${task}`}
              bytes={data.outputBytes}
              value={undefined}
              isLoadedAtOnce={data.outputBytes < SMALL_BYTES}
              load={(signal) => loadStepOutput(scope, run.runId, step.step, task, signal)}
              loadKey={[run.runId, step.step, task, data.endedAt]}
            />
          )}
          {data.attempts.length > 0 && <Attempts attempts={data.attempts} />}
        </>
      )}
    </section>
  )
}

/** What is no larger is loaded without asking. */
const SMALL_BYTES = 64_000
