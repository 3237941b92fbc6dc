import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Status } from '../../design/Status.tsx'
import { type Column, Table, TwoLines } from '../../design/Table.tsx'
import { formatCount } from '../../format/count.ts'
import { formatDuration } from '../../format/duration.ts'
import { FenceButton } from '../functions/FenceButton.tsx'
import { functionStatus } from '../functions/function-status.ts'
import styles from './QueueTable.module.css'
import { COUNTED_UP_TO, isInTrouble, type QueueRow } from './queue-row.ts'

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
      minWidth="56rem"
      empty={empty}
    />
  )
}

function groupOf({ flow }: QueueRow) {
  return { key: flow ?? '', heading: flow ?? 'Queues without a flow' }
}

const COLUMNS: readonly Column<QueueRow>[] = [
  {
    title: 'Queue',
    width: '28%',
    cell: ({ queue, steps }) => (
      <TwoLines below={steps.length === 0 ? undefined : queue}>
        <Link to="/queues/$queue" params={{ queue }} title={queue}>
          {steps.length === 0 ? queue : steps.join(', ')}
        </Link>
      </TwoLines>
    ),
  },
  {
    title: 'Coverage',
    width: '13%',
    cell: ({ coverage }) => <Status status={coverage} isPlain={coverage === 'covered' || coverage === 'idle'} />,
  },
  { title: 'Depth', width: '8%', isNumber: true, cell: ({ depth }) => <Depth depth={depth} /> },
  {
    title: 'Oldest',
    width: '9%',
    isNumber: true,
    cell: ({ oldestSeconds }) => (oldestSeconds === undefined ? <None /> : formatDuration(oldestSeconds * 1_000)),
  },
  { title: 'Workers', width: '8%', isNumber: true, cell: ({ liveWorkers }) => formatCount(liveWorkers) },
  {
    title: 'Function',
    width: '34%',
    cell: ({ functions }) =>
      functions.length === 0 ? (
        <None />
      ) : (
        <ul className={styles.functions}>
          {functions.map((each) => (
            <li key={each.function} className={styles.function}>
              <span className={styles.name} title={each.function}>
                {each.function}
              </span>
              {functionStatus(each) !== 'enabled' && <Status status={functionStatus(each)} />}
              <FenceButton of={each} />
            </li>
          ))}
        </ul>
      ),
  },
]

/** Messages that wait, as far as they are counted. */
function Depth({ depth }: { readonly depth: number | undefined }) {
  if (depth === undefined) return <None />
  return depth >= COUNTED_UP_TO ? `${formatCount(COUNTED_UP_TO)}+` : formatCount(depth)
}

function None() {
  return <span className={styles.none}>–</span>
}
