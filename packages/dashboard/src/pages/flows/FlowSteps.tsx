import { Link } from '@tanstack/react-router'
import { type Column, Table } from '../../design/Table.tsx'
import type { FlowSummary } from './flow-queries.ts'

type FlowStep = FlowSummary['steps'][number]

const COLUMNS: readonly Column<FlowStep>[] = [
  { title: 'Step', width: '26%', cell: ({ step }) => <strong>{step}</strong> },
  { title: 'Type', width: '12%', cell: ({ type }) => type },
  {
    title: 'After',
    width: '30%',
    cell: ({ dependsOn }) => (dependsOn.length === 0 ? 'the input' : dependsOn.join(', ')),
  },
  {
    title: 'Queue',
    width: '32%',
    cell: ({ queue }) =>
      queue === null ? (
        '–'
      ) : (
        <Link to="/queues/$queue" params={{ queue }}>
          {queue}
        </Link>
      ),
  },
]

/** The steps of a flow in their order. */
export function FlowSteps({ flow, selected }: { readonly flow: FlowSummary; readonly selected: string | null }) {
  return (
    <Table
      label="Steps"
      columns={COLUMNS}
      rows={flow.steps}
      rowKey={({ step }) => step}
      isMarked={({ step }) => step === selected}
      minWidth="36rem"
    />
  )
}
