import { Link } from '@tanstack/react-router'
import type { LivenessProblem } from '../../api/overview.ts'
import { type Column, Table } from '../../design/Table.tsx'

/** Open runs that nobody would go on with: there should be none. */
export function LivenessProblems({ problems }: { readonly problems: readonly LivenessProblem[] }) {
  return (
    <Table
      label="Open runs without a next actor"
      columns={COLUMNS}
      rows={problems}
      rowKey={({ runId, step, task }) => `${runId} ${step} ${task}`}
      isMarked={() => true}
    />
  )
}

const COLUMNS: readonly Column<LivenessProblem>[] = [
  {
    title: 'Run',
    width: '32%',
    cell: ({ runId }) => (
      <Link to="/runs/$runId" params={{ runId }}>
        {runId}
      </Link>
    ),
  },
  { title: 'Flow', width: '18%', cell: ({ flow }) => flow },
  {
    title: 'Step',
    width: '16%',
    cell: ({ step, task }) => (step === null ? 'the run itself' : `${step}${task === null ? '' : `[${task}]`}`),
  },
  { title: 'Reason', width: '34%', cell: ({ reason }) => <span title={reason}>{reason}</span> },
]
