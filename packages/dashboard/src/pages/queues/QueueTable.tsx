import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { None } from '../../design/None.tsx'
import { Status } from '../../design/Status.tsx'
import { type Column, Table, TwoLines } from '../../design/Table.tsx'
import { formatCount, formatRate } from '../../format/count.ts'
import { formatDuration } from '../../format/duration.ts'
import { FunctionList } from '../functions/FunctionList.tsx'
import styles from './QueueTable.module.css'
import { isInTrouble, type QueueRow } from './queue-row.ts'
import { depthText, TROUBLE_MEANING, TROUBLE_STATUS } from './queue-words.ts'

/** Queues under their flows, in the order of the steps. */
export function QueueTable({ rows, empty }: { readonly rows: readonly QueueRow[]; readonly empty: ReactNode }) {
  return (
    <Table
      label="Queues"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ queue }) => queue}
      groupOf={groupOf}
      isMarked={isInTrouble}
      minWidth="62rem"
      empty={empty}
    />
  )
}

function groupOf({ flow }: QueueRow) {
  return {
    key: flow ?? '',
    heading:
      flow === undefined ? (
        'Queues without a flow'
      ) : (
        <Link to="/flows/$flow" params={{ flow }}>
          {flow}
        </Link>
      ),
  }
}

const COLUMNS: readonly Column<QueueRow>[] = [
  {
    title: 'Queue',
    width: '22%',
    narrowWidth: '14%',
    cell: ({ queue, stepSlugs }) => (
      <TwoLines below={stepSlugs.length === 0 ? undefined : queue}>
        <Link to="/queues/$queue" params={{ queue }} title={queue}>
          {stepSlugs.length === 0 ? queue : stepSlugs.join(', ')}
        </Link>
      </TwoLines>
    ),
  },
  { title: 'State', width: '19%', cell: (row) => <QueueState row={row} /> },
  { title: 'Depth', width: '7%', isNumber: true, cell: ({ depth }) => depthText(depth) ?? <None /> },
  { title: 'In flight', width: '7%', isNumber: true, cell: ({ inFlight }) => depthText(inFlight) ?? <None /> },
  {
    title: 'Oldest',
    width: '9%',
    isNumber: true,
    cell: ({ oldestSeconds }) => (oldestSeconds === null ? <None /> : formatDuration(oldestSeconds * 1_000)),
  },
  {
    title: 'Per minute',
    width: '8%',
    isNumber: true,
    cell: ({ donePerMinute }) => (donePerMinute === null ? <None /> : formatRate(donePerMinute)),
  },
  { title: 'Workers', width: '7%', isNumber: true, cell: ({ liveWorkers }) => formatCount(liveWorkers) },
  { title: 'Function', width: '21%', cell: ({ workerFunctions }) => <FunctionList functions={workerFunctions} /> },
]

/** What is wrong with a queue; or, where nothing is, whether it is covered. */
export function QueueState({ row }: { readonly row: Pick<QueueRow, 'troubles' | 'coverage'> }) {
  const { troubles, coverage } = row
  if (troubles.length > 0) return <QueueTroubles troubles={troubles} />
  return <Status status={coverage} isPlain={coverage !== 'fenced'} />
}

/** Each with what it means. */
export function QueueTroubles({ troubles }: Pick<QueueRow, 'troubles'>) {
  return (
    <span className={styles.troubles}>
      {troubles.map((trouble) => (
        <span key={trouble} title={TROUBLE_MEANING[trouble]}>
          <Status status={TROUBLE_STATUS[trouble]} />
        </span>
      ))}
    </span>
  )
}
