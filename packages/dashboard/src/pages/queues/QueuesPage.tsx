import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { functionsQuery } from '../../api/functions.ts'
import { joined } from '../../api/joined.ts'
import { type Queue, queuesQuery } from '../../api/queues.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { FilterBar, FilterNote, FilterSwitch, SearchField } from '../../design/Field.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page } from '../../design/Page.tsx'
import { countOf } from '../../format/count.ts'
import { flowsQuery } from '../flows/flow-queries.ts'
import { QueueTable } from './QueueTable.tsx'
import { filterQueueRows, isInTrouble, queueRows } from './queue-row.ts'

/** Every queue: what waits, who serves it, and where nobody does. */
export function QueuesPage() {
  const search = useSearch({ from: '/_signed-in/queues' })
  const navigate = useNavigate({ from: '/queues' })
  const query = joined(useQuery(queuesQuery), useQuery(functionsQuery), useQuery(flowsQuery))
  const set = (change: Partial<typeof search>) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <Page title="Queues">
      <FilterBar>
        <SearchField
          label="Find a queue, flow or step"
          placeholder="Queue, flow or step"
          value={search.q ?? ''}
          onChange={(q) => set({ q: q === '' ? undefined : q })}
        />
        <FilterSwitch
          label="Only trouble"
          isOn={search.trouble === 'only'}
          onChange={(isOn) => set({ trouble: isOn ? 'only' : undefined })}
        />
        {query.data !== undefined && <Summary queues={query.data[0]} />}
      </FilterBar>
      <Loaded query={query}>
        {([queues, functions, flows]) => {
          const rows = queueRows(queues, functions, flows)
          const shown = filterQueueRows(rows, { text: search.q, isTrouble: search.trouble === 'only' })
          return <QueueTable rows={shown} empty={rows.length === 0 ? <NoQueue /> : <NothingFound search={search} />} />
        }}
      </Loaded>
    </Page>
  )
}

function Summary({ queues }: { readonly queues: readonly Queue[] }) {
  const inTrouble = queues.filter(isInTrouble).length
  return (
    <FilterNote>
      {countOf(queues.length, 'queue')}, {inTrouble === 0 ? 'none in trouble' : `${inTrouble} in trouble`}
    </FilterNote>
  )
}

function NoQueue() {
  return (
    <EmptyState title="There are no queues yet.">
      <p>A flow has its queues once a worker of it has started. Runs on runners need none.</p>
    </EmptyState>
  )
}

function NothingFound({
  search,
}: {
  readonly search: { readonly q?: string | undefined; readonly trouble?: 'only' | undefined }
}) {
  return (
    <EmptyState
      title={search.trouble === 'only' ? 'No queue is in trouble.' : `No queue has “${search.q}” in its name.`}
      action={
        <Link to="/queues" search={{}}>
          Show all queues
        </Link>
      }
    />
  )
}
