import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { functionsQuery, type WorkerFunction } from '../../api/functions.ts'
import { type Worker, workersQuery } from '../../api/workers.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { FilterBar, FilterSwitch, SearchField } from '../../design/Field.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Section } from '../../design/Page.tsx'
import { Status } from '../../design/Status.tsx'
import { type Column, Table, TwoLines } from '../../design/Table.tsx'
import { RelativeTime } from '../../design/Time.tsx'
import { formatAge, formatDuration } from '../../format/duration.ts'
import { FenceButton } from '../functions/FenceButton.tsx'
import { functionStatus } from '../functions/function-status.ts'

/** The workers of step queues and the functions that host them. */
export function WorkersPage() {
  const search = useSearch({ from: '/_signed-in/workers' })
  const navigate = useNavigate({ from: '/workers' })
  const set = (change: Partial<typeof search>) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  const functions = useQuery(functionsQuery)
  const workers = useQuery(workersQuery(search.show === 'all'))
  const wanted = (search.q ?? '').trim().toLowerCase()
  const isWanted = (...names: readonly string[]) => names.some((name) => name.toLowerCase().includes(wanted))
  return (
    <Page title="Workers">
      <FilterBar>
        <SearchField
          label="Find a function or queue"
          placeholder="Function or queue"
          value={search.q ?? ''}
          onChange={(q) => set({ q: q === '' ? undefined : q })}
        />
        <FilterSwitch
          label="Silent and stopped ones too"
          isOn={search.show === 'all'}
          onChange={(isOn) => set({ show: isOn ? 'all' : undefined })}
        />
      </FilterBar>
      <Section title="Functions">
        <Loaded query={functions}>
          {(all) => (
            <Table
              label="Functions"
              columns={FUNCTION_COLUMNS}
              rows={all.filter((each) => isWanted(each.function))}
              rowKey={(row) => row.function}
              empty={
                <EmptyState
                  title={all.length === 0 ? 'There are no worker functions yet.' : 'No function has that name.'}
                >
                  {all.length === 0 && (
                    <p>They are known from when they are deployed. `starflow functions generate` writes them.</p>
                  )}
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Section>
      <Section title="Workers">
        <Loaded query={workers}>
          {(all) => (
            <Table
              label="Workers"
              columns={WORKER_COLUMNS}
              rows={all.filter((each) => isWanted(each.function, each.queue))}
              rowKey={(row) => row.workerId}
              isMarked={({ state }) => state === 'silent'}
              empty={
                <EmptyState title={all.length === 0 ? 'No worker lives.' : 'No worker is of that name.'}>
                  {all.length === 0 && <p>Enabled functions are started within seconds of work coming in.</p>}
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Section>
    </Page>
  )
}

const FUNCTION_COLUMNS: readonly Column<WorkerFunction>[] = [
  { title: 'Function', width: '40%', cell: (row) => <span title={row.function}>{row.function}</span> },
  { title: 'State', width: '14%', cell: (row) => <Status status={functionStatus(row)} isPlain={row.isEnabled} /> },
  {
    title: 'Reason',
    width: '34%',
    cell: ({ fencedBy, fencedAt, disabledReason }) =>
      fencedBy !== null && fencedAt !== null ? (
        <>
          by {fencedBy}, <RelativeTime at={fencedAt} />
        </>
      ) : (
        disabledReason
      ),
  },
  { title: 'Fence', width: '12%', isTitleHidden: true, isNumber: true, cell: (row) => <FenceButton of={row} /> },
]

const WORKER_COLUMNS: readonly Column<Worker>[] = [
  {
    title: 'Worker',
    width: '34%',
    cell: ({ workerId, function: name }) => (
      <TwoLines below={workerId}>
        <span title={name}>{name}</span>
      </TwoLines>
    ),
  },
  { title: 'State', width: '14%', cell: ({ state }) => <Status status={state} isPlain={state !== 'silent'} /> },
  {
    title: 'Queue',
    width: '28%',
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
