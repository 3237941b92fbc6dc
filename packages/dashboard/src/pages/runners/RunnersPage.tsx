import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import {
  type Lease,
  leasesQuery,
  type Runner,
  runnersQuery,
  type UnservedRun,
  unservedRunsQuery,
} from '../../api/runners.ts'
import { serverClock } from '../../api/server-clock.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Section } from '../../design/Page.tsx'
import { Status } from '../../design/Status.tsx'
import { type Column, Table } from '../../design/Table.tsx'
import { RelativeTime, TimeUntil } from '../../design/Time.tsx'
import { formatCount } from '../../format/count.ts'
import { useScope } from '../../shell/use-scope.ts'

/** The processes that execute whole runs, and the runs that none of them serves. */
export function RunnersPage() {
  const runners = useQuery(runnersQuery)
  const scope = useScope()
  const unserved = useQuery(unservedRunsQuery(scope))
  const leases = useQuery(leasesQuery(scope))
  return (
    <Page title="Runners">
      <Section title="Runners" aside="heard of within the last day">
        <Loaded query={runners}>
          {(rows) => (
            <Table
              label="Runners"
              columns={RUNNER_COLUMNS}
              rows={rows}
              rowKey={({ runnerId }) => runnerId}
              empty={
                <EmptyState title="No runner was heard of within the last day.">
                  <p>
                    Start one with <code>npx starflow runner</code>; a server whose role is <code>both</code> is one
                    too. Flows on step queues need none.
                  </p>
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Section>
      <Section title="Leases" aside="runs that a runner holds">
        <Loaded query={leases}>
          {(rows) => (
            <Table
              label="Leases"
              columns={LEASE_COLUMNS}
              rows={rows}
              rowKey={({ runId }) => runId}
              isMarked={isOver}
              minWidth="56rem"
              empty={<EmptyState title="No runner holds a run right now." />}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Unserved runs" aside="queued, and no live runner claims them">
        <Loaded query={unserved}>
          {(rows) => (
            <Table
              label="Unserved runs"
              columns={UNSERVED_COLUMNS}
              rows={rows}
              rowKey={({ runId }) => runId}
              isMarked={() => true}
              empty={<EmptyState title="Every queued run is served." />}
            />
          )}
        </Loaded>
      </Section>
    </Page>
  )
}

const RUNNER_COLUMNS: readonly Column<Runner>[] = [
  { title: 'Runner', width: '38%', cell: ({ runnerId }) => <span title={runnerId}>{runnerId}</span> },
  {
    title: 'State',
    width: '14%',
    cell: ({ isLive }) => <Status status={isLive ? 'live' : 'silent'} isPlain={isLive} />,
  },
  { title: 'Pool', width: '16%', cell: ({ pool }) => pool ?? 'none' },
  {
    title: 'Runs',
    width: '16%',
    isNumber: true,
    cell: ({ runs, capacity }) => `${formatCount(runs)} of ${formatCount(capacity)}`,
  },
  {
    title: 'Heartbeat',
    width: '16%',
    isNumber: true,
    cell: ({ lastHeartbeat }) => <RelativeTime at={lastHeartbeat} />,
  },
]

const LEASE_COLUMNS: readonly Column<Lease>[] = [
  {
    title: 'Run',
    width: '26%',
    cell: ({ runId }) => (
      <Link to="/runs/$runId" params={{ runId }}>
        {runId}
      </Link>
    ),
  },
  { title: 'Flow', width: '14%', cell: ({ flow }) => flow },
  { title: 'Workspace', width: '12%', cell: ({ workspace }) => workspace },
  { title: 'Runner', width: '20%', cell: ({ runner }) => <span title={runner}>{runner}</span> },
  { title: 'State', width: '9%', cell: ({ state }) => <Status status={state} isPlain /> },
  { title: 'Claims', width: '7%', isNumber: true, cell: ({ claims }) => formatCount(claims) },
  { title: 'Lease', width: '12%', isNumber: true, cell: ({ leaseUntil }) => <TimeUntil at={leaseUntil} /> },
]

/** The sweep gives it to another runner. */
function isOver({ leaseUntil }: Lease): boolean {
  return Date.parse(leaseUntil) < serverClock.now()
}

const REASONS: Readonly<Record<UnservedRun['reason'], string>> = {
  no_runner: 'no runner lives that takes new runs',
  refused: 'a runner refuses the flow',
  other_definition: 'no live runner has the code that it was started with',
  other_pool: 'no live runner is of its pool',
}

const UNSERVED_COLUMNS: readonly Column<UnservedRun>[] = [
  {
    title: 'Run',
    width: '30%',
    cell: ({ runId }) => (
      <Link to="/runs/$runId" params={{ runId }}>
        {runId}
      </Link>
    ),
  },
  { title: 'Flow', width: '20%', cell: ({ flow }) => flow },
  { title: 'Pool', width: '10%', cell: ({ pool }) => pool ?? 'none' },
  { title: 'Reason', width: '26%', cell: ({ reason, detail }) => detail ?? REASONS[reason] },
  { title: 'Queued', width: '14%', isNumber: true, cell: ({ queuedAt }) => <RelativeTime at={queuedAt} /> },
]
