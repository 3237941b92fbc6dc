import { Link } from '@tanstack/react-router'
import type { Worker } from '../../api/workers.ts'
import { Status } from '../../design/Status.tsx'
import { type Column, TwoLines } from '../../design/Table.tsx'
import { formatAge, formatDuration } from '../../format/duration.ts'

/** A worker as every table shows it. */
export const WORKER_COLUMNS: readonly Column<Worker>[] = [
  {
    title: 'Worker',
    width: '36%',
    cell: ({ workerId, function: name }) => (
      <TwoLines below={workerId}>
        <span title={name}>{name}</span>
      </TwoLines>
    ),
  },
  { title: 'State', width: '14%', cell: ({ state }) => <Status status={state} isPlain={state !== 'silent'} /> },
  {
    title: 'Queue',
    width: '26%',
    cell: ({ queue }) => (
      <Link to="/queues/$queue" params={{ queue }} title={queue}>
        {queue}
      </Link>
    ),
  },
  { title: 'Age', width: '12%', isNumber: true, cell: ({ ageSeconds }) => formatDuration(ageSeconds * 1_000) },
  {
    title: 'Heartbeat',
    width: '12%',
    isNumber: true,
    cell: ({ heartbeatSecondsAgo }) => `${formatAge(Math.max(1, heartbeatSecondsAgo) * 1_000)} ago`,
  },
]
