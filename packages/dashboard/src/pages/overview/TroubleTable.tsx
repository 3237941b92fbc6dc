import { Link } from '@tanstack/react-router'
import type { QueueInTrouble } from '../../api/overview.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { None } from '../../design/None.tsx'
import { type Column, Table, TwoLines } from '../../design/Table.tsx'
import { countOf, formatCount } from '../../format/count.ts'
import { formatDuration } from '../../format/duration.ts'
import { QueueTroubles } from '../queues/QueueTable.tsx'
import { depthText } from '../queues/queue-words.ts'

/** The queues that need somebody. */
export function TroubleTable({
  queues,
  total,
}: {
  readonly queues: readonly QueueInTrouble[]
  readonly total: number
}) {
  return (
    <Table
      label="Queues in trouble"
      columns={COLUMNS}
      rows={queues}
      rowKey={({ queue }) => queue}
      isMarked={() => true}
      empty={
        <EmptyState title={total === 0 ? 'There are no queues yet.' : `${countOf(total, 'queue')}, and all is well.`} />
      }
    />
  )
}

const COLUMNS: readonly Column<QueueInTrouble>[] = [
  {
    title: 'Queue',
    width: '32%',
    cell: ({ queue, fence }) => (
      <TwoLines below={fence}>
        <Link to="/queues/$queue" params={{ queue }} title={queue}>
          {queue}
        </Link>
      </TwoLines>
    ),
  },
  { title: 'Trouble', width: '28%', cell: ({ troubles }) => <QueueTroubles troubles={troubles} /> },
  { title: 'Depth', width: '10%', isNumber: true, cell: ({ depth }) => depthText(depth) ?? <None /> },
  {
    title: 'Waits for',
    width: '12%',
    isNumber: true,
    cell: ({ waitingSeconds }) => (waitingSeconds === null ? <None /> : formatDuration(waitingSeconds * 1_000)),
  },
  { title: 'Stalled', width: '9%', isNumber: true, cell: ({ stalled }) => formatCount(stalled) },
  { title: 'Workers', width: '9%', isNumber: true, cell: ({ liveWorkers }) => formatCount(liveWorkers) },
]
