import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { EmptyState } from '../../design/EmptyState.tsx'
import { FilterBar, SearchField } from '../../design/Field.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Panel } from '../../design/Page.tsx'
import { Status } from '../../design/Status.tsx'
import { type Column, Table } from '../../design/Table.tsx'
import { RelativeTime } from '../../design/Time.tsx'
import { countOf } from '../../format/count.ts'
import styles from './FlowsPage.module.css'
import { type FlowSummary, flowsQuery } from './flow-queries.ts'

const COLUMNS: readonly Column<FlowSummary>[] = [
  {
    title: 'Flow',
    width: '38%',
    cell: ({ flow, isPaused }) => (
      <span className={styles.flow}>
        <Link to="/flows/$flow" params={{ flow }} className={styles.name}>
          {flow}
        </Link>
        {isPaused && <Status status="paused" />}
      </span>
    ),
  },
  { title: 'Steps', width: '14%', cell: ({ steps }) => countOf(steps.length, 'step') },
  {
    title: 'Runs on',
    width: '26%',
    cell: ({ placements, queueMode }) => placementsText(placements, queueMode),
  },
  {
    title: 'Compiled',
    width: '22%',
    cell: ({ compiledAt }) => (compiledAt === null ? 'not in the database' : <RelativeTime at={compiledAt} />),
  },
]

/** All flows that are compiled in the database or loaded by the server. */
export function FlowsPage() {
  const query = useQuery(flowsQuery)
  const [text, setText] = useState('')
  return (
    <Page title="Flows">
      <FilterBar>
        <SearchField label="Find a flow or step" placeholder="Flow or step" value={text} onChange={setText} />
      </FilterBar>
      <Loaded query={query}>
        {(flows) =>
          flows.length === 0 ? (
            <Panel>
              <EmptyState title="There is no flow yet.">
                A flow comes here when a worker of it has started, which compiles it in the database, or when the server
                was started with its module.
              </EmptyState>
            </Panel>
          ) : (
            <Table
              label="Flows"
              columns={COLUMNS}
              rows={flows.filter((flow) => fits(flow, text.trim().toLowerCase()))}
              rowKey={({ flow }) => flow}
              empty={
                <EmptyState title="No flow fits.">The text is looked for in the slugs of flows and steps.</EmptyState>
              }
            />
          )
        }
      </Loaded>
    </Page>
  )
}

function fits({ flow, steps }: FlowSummary, text: string): boolean {
  return flow.toLowerCase().includes(text) || steps.some(({ step }) => step.toLowerCase().includes(text))
}

/** Where runs of a flow go, in words. */
export function placementsText(placements: FlowSummary['placements'], queueMode: FlowSummary['queueMode']): string {
  const queues = queueMode === 'step' ? 'step queues' : 'one queue'
  return placements.map((placement) => (placement === 'queue' ? queues : 'runners')).join(', ') || 'nothing yet'
}
