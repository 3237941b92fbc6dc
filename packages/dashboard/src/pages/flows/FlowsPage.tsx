import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { EmptyState } from '../../design/EmptyState.tsx'
import { FilterBar, SearchField } from '../../design/Field.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Panel } from '../../design/Page.tsx'
import { Status } from '../../design/Status.tsx'
import { type Column, Table } from '../../design/Table.tsx'
import { RelativeTime } from '../../design/Time.tsx'
import { formatCount } from '../../format/count.ts'
import styles from './FlowsPage.module.css'
import { type FlowSummary, flowsQuery } from './flow-queries.ts'
import { byFamily, fitsText, type ListedFlow, placementsText, standingText } from './flow-versions.ts'

const route = getRouteApi('/_signed-in/flows')

const COLUMNS: readonly Column<ListedFlow>[] = [
  {
    title: 'Flow',
    width: '28%',
    narrowWidth: '17%',
    cell: ({ flow }) => (
      <span className={styles.flow}>
        <Link to="/flows/$flow" params={{ flow: flow.flow }} className={styles.name}>
          {flow.flow}
        </Link>
        {flow.isPaused && <Status status="paused" />}
      </span>
    ),
  },
  { title: 'Steps', width: '7%', isNumber: true, cell: ({ flow }) => formatCount(flow.steps.length) },
  { title: 'Runs on', width: '19%', cell: ({ flow }) => placementsText(flow) },
  {
    title: 'Open runs',
    width: '11%',
    isNumber: true,
    cell: ({ flow: { flow, drain } }) =>
      drain === null || drain.openRuns === 0 ? (
        <span className={styles.none}>{drain === null ? '–' : '0'}</span>
      ) : (
        <Link to="/runs" search={{ flow, status: ['running'], placement: 'queue' }}>
          {formatCount(drain.openRuns)}
        </Link>
      ),
  },
  {
    title: 'Workers',
    width: '10%',
    isNumber: true,
    cell: ({ flow: { drain } }) => (drain === null ? '–' : formatCount(drain.liveWorkers)),
  },
  { title: 'Version', width: '14%', cell: standingText },
  {
    title: 'Compiled',
    width: '11%',
    cell: ({ flow: { compiledAt } }) => (compiledAt === null ? 'never' : <RelativeTime at={compiledAt} />),
  },
]

/** All flows that are compiled in the database or loaded by the server; versions of one flow together, the newest first. */
export function FlowsPage() {
  const query = useQuery(flowsQuery)
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page title="Flows">
      <FilterBar>
        <SearchField
          label="Find a flow or step"
          placeholder="Flow or step"
          value={q}
          onChange={(text) =>
            void navigate({ search: (old) => ({ ...old, q: text === '' ? undefined : text }), replace: true })
          }
        />
      </FilterBar>
      <Loaded query={query}>{(flows) => <FlowTable flows={flows} text={q} />}</Loaded>
    </Page>
  )
}

function FlowTable({ flows, text }: { readonly flows: readonly FlowSummary[]; readonly text: string }) {
  if (flows.length === 0) {
    return (
      <Panel>
        <EmptyState title="There is no flow yet.">
          A flow comes here when a worker of it has started, which compiles it in the database, or when the server was
          started with its module.
        </EmptyState>
      </Panel>
    )
  }
  return (
    <Table
      label="Flows"
      columns={COLUMNS}
      rows={byFamily(flows).filter(({ flow }) => fitsText(flow, text))}
      rowKey={({ flow }) => flow.flow}
      minWidth="52rem"
      empty={<EmptyState title="No flow fits.">The text is looked for in the slugs of flows and steps.</EmptyState>}
    />
  )
}
