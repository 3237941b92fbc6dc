import { Link } from '@tanstack/react-router'
import type { Worker } from '../../api/workers.ts'
import { Status } from '../../design/Status.tsx'
import { type Column, TwoLines } from '../../design/Table.tsx'
import { countOf } from '../../format/count.ts'
import { formatAge, formatDuration } from '../../format/duration.ts'
import { CpuFigure } from './CpuFigure.tsx'
import { cpuOfWorker } from './cpu-per-task.ts'

/** Below it a table of workers scrolls. */
export const WORKERS_MIN_WIDTH = '52rem'

/** A worker as every table shows it. */
export const WORKER_COLUMNS: readonly Column<Worker>[] = [
  {
    title: 'Worker',
    width: '30%',
    cell: ({ workerId, function: name }) => (
      <TwoLines below={workerId}>
        <span title={name}>{name}</span>
      </TwoLines>
    ),
  },
  { title: 'State', width: '11%', cell: ({ state }) => <Status status={state} isPlain={state !== 'silent'} /> },
  {
    title: 'Queue',
    width: '22%',
    cell: ({ queue }) => (
      <Link to="/queues/$queue" params={{ queue }} title={queue}>
        {queue}
      </Link>
    ),
  },
  {
    title: 'CPU per task',
    width: '14%',
    isNumber: true,
    cell: (row) => (
      <TwoLines below={row.tasks === null ? undefined : countOf(row.tasks, 'task')}>
        <CpuFigure of={cpuOfWorker(row)} />
      </TwoLines>
    ),
  },
  { title: 'Age', width: '11%', isNumber: true, cell: ({ ageSeconds }) => formatDuration(ageSeconds * 1_000) },
  {
    title: 'Heartbeat',
    width: '12%',
    isNumber: true,
    cell: ({ heartbeatSecondsAgo }) => `${formatAge(Math.max(1, heartbeatSecondsAgo) * 1_000)} ago`,
  },
]
