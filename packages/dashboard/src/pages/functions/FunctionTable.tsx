import { Link } from '@tanstack/react-router'
import type { WorkerFunction } from '../../api/functions.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { None } from '../../design/None.tsx'
import { Status } from '../../design/Status.tsx'
import { type Column, Table, TwoLines } from '../../design/Table.tsx'
import { RelativeTime } from '../../design/Time.tsx'
import { countOf, formatCount, formatRate } from '../../format/count.ts'
import { CpuFigure } from '../workers/CpuFigure.tsx'
import { cpuOfFunction } from '../workers/cpu-per-task.ts'
import { FenceButton } from './FenceButton.tsx'
import styles from './FunctionTable.module.css'
import { functionStatus } from './function-status.ts'

/** Worker functions with their fence, what their last start said, and what they do. */
export function FunctionTable({
  functions,
  empty,
}: {
  readonly functions: readonly WorkerFunction[]
  readonly empty: string
}) {
  return (
    <Table
      label="Functions"
      columns={COLUMNS}
      rows={functions}
      rowKey={(row) => row.function}
      isMarked={isFailing}
      minWidth="68rem"
      empty={<EmptyState title={empty} />}
    />
  )
}

/** Its last starts have failed. */
export function isFailing({ failedStarts }: Pick<WorkerFunction, 'failedStarts'>): boolean {
  return failedStarts > 0
}

const COLUMNS: readonly Column<WorkerFunction>[] = [
  {
    title: 'Function',
    width: '23%',
    narrowWidth: '14%',
    cell: ({ function: name, queues, startMode }) => (
      <TwoLines below={belowName(name, queues, startMode)}>
        <span title={name}>{name}</span>
      </TwoLines>
    ),
  },
  {
    title: 'State',
    width: '14%',
    cell: (row) => (
      <TwoLines below={<Reason of={row} />}>
        <Status status={functionStatus(row)} isPlain={row.isEnabled} />
      </TwoLines>
    ),
  },
  { title: 'Last error', width: '17%', cell: (row) => <LastError of={row} /> },
  { title: 'Workers', width: '7%', isNumber: true, cell: ({ liveWorkers }) => formatCount(liveWorkers) },
  {
    title: 'Started',
    width: '12%',
    isNumber: true,
    cell: ({ lives, tasksPerLife }) => (
      <TwoLines below={tasksPerLife === null ? undefined : `${formatRate(tasksPerLife)} tasks each`}>
        <span title="Workers that were started within the last hour">{formatCount(lives)} in 1 h</span>
      </TwoLines>
    ),
  },
  { title: 'CPU per task', width: '10%', isNumber: true, cell: (row) => <CpuFigure of={cpuOfFunction(row)} /> },
  {
    title: 'Last ping',
    width: '9%',
    isNumber: true,
    cell: ({ lastInvokedAt }) => (lastInvokedAt === null ? <None /> : <RelativeTime at={lastInvokedAt} />),
  },
  { title: 'Fence', width: '8%', isTitleHidden: true, isNumber: true, cell: (row) => <FenceButton of={row} /> },
]

function belowName(name: string, queues: readonly string[], startMode: WorkerFunction['startMode']) {
  const others = queues.filter((queue) => queue !== name)
  const first = others[0]
  return (
    <>
      {startMode === 'process' && 'a process'}
      {startMode === 'process' && first !== undefined && ' · '}
      {others.length === 1 && first !== undefined && (
        <Link to="/queues/$queue" params={{ queue: first }}>
          {first}
        </Link>
      )}
      {others.length > 1 && <span title={others.join('\n')}>{countOf(others.length, 'queue')}</span>}
    </>
  )
}

/** Why it is disabled, or that it cannot do what it is enabled for: beside the name, where also a small screen shows it. */
function Reason({ of: row }: { readonly of: WorkerFunction }) {
  const { isEnabled, fencedBy, fencedAt, disabledReason, failedStarts } = row
  if (fencedBy !== null && fencedAt !== null) {
    return (
      <>
        by {fencedBy}, <RelativeTime at={fencedAt} />
      </>
    )
  }
  if (isEnabled && isFailing(row)) {
    return <span className={styles.failing}>{countOf(failedStarts, 'start')} failed</span>
  }
  return disabledReason === null ? null : <span title={disabledReason}>{disabledReason}</span>
}

/** What a start was refused with; one that is over is quiet. */
function LastError({ of: row }: { readonly of: WorkerFunction }) {
  const { lastError, lastErrorAt, isEnabled, fencedBy, failedStarts } = row
  // Else the count stands beside the name.
  const isNotTold = isFailing(row) && (!isEnabled || fencedBy !== null)
  if (lastError === null) return <None />
  return (
    <details className={isFailing(row) ? styles.failing : styles.past}>
      <summary className={styles.summary}>
        {!isFailing(row) && 'over, '}
        {isNotTold && `${countOf(failedStarts, 'start')} failed, `}
        {lastErrorAt === null ? 'at an unknown time' : <RelativeTime at={lastErrorAt} />}
      </summary>
      <p className={styles.text}>{lastError}</p>
    </details>
  )
}
