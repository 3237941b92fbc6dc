import { Link } from '@tanstack/react-router'
import { type Column, Table } from '../../design/Table.tsx'
import { formatDuration } from '../../format/duration.ts'
import styles from './FlowSteps.module.css'
import type { FlowStep } from './flow-queries.ts'

const COLUMNS: readonly Column<FlowStep>[] = [
  { title: 'Step', width: '20%', cell: ({ step }) => <strong>{step}</strong> },
  { title: 'Type', width: '9%', cell: ({ type }) => (type === 'single' ? 'step' : type) },
  {
    title: 'After',
    width: '22%',
    cell: ({ dependsOn }) =>
      dependsOn.length === 0 ? <span className={styles.quiet}>the input</span> : dependsOn.join(', '),
  },
  { title: 'Attempts', width: '10%', isNumber: true, cell: ({ options }) => options.maxAttempts ?? '–' },
  {
    title: 'Timeout',
    width: '12%',
    isNumber: true,
    cell: ({ options: { timeoutSeconds } }) => (timeoutSeconds === null ? '–' : formatDuration(timeoutSeconds * 1000)),
  },
  {
    title: 'Queue',
    width: '27%',
    cell: ({ queue }) =>
      queue === null ? (
        <span className={styles.quiet}>none</span>
      ) : (
        <Link to="/queues/$queue" params={{ queue }}>
          {queue}
        </Link>
      ),
  },
]

/** The steps of a flow in their order, with what applies to each. */
export function FlowSteps({
  steps,
  selected,
}: {
  readonly steps: readonly FlowStep[]
  readonly selected: string | null
}) {
  return (
    <Table
      label="List of steps"
      columns={COLUMNS}
      rows={steps}
      rowKey={({ step }) => step}
      isSelected={({ step }) => step === selected}
      minWidth="44rem"
    />
  )
}
