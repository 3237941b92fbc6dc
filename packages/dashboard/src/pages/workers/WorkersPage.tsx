import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { functionsQuery } from '../../api/functions.ts'
import { workersQuery } from '../../api/workers.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { FilterBar, FilterSwitch, SearchField } from '../../design/Field.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Section } from '../../design/Page.tsx'
import { Table } from '../../design/Table.tsx'
import { FunctionTable, isFailing } from '../functions/FunctionTable.tsx'
import { WORKER_COLUMNS, WORKERS_MIN_WIDTH } from './worker-columns.tsx'

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
            <FunctionTable
              // Those that do not start come first.
              functions={all
                .filter((each) => isWanted(each.function, ...each.queues))
                .sort((a, b) => Number(isFailing(b)) - Number(isFailing(a)))}
              empty={
                all.length === 0
                  ? 'There are no worker functions yet: they are known from when they are deployed.'
                  : 'No function has that name.'
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
              minWidth={WORKERS_MIN_WIDTH}
              rows={all.filter((each) => isWanted(each.function, each.queue))}
              rowKey={(row) => row.workerId}
              isMarked={({ state }) => state === 'silent'}
              empty={
                <EmptyState title={all.length === 0 ? 'No worker lives.' : 'No worker is of that name.'}>
                  {all.length === 0 && (
                    <p>Enabled functions are started by pings, once a second, where the cron job runs.</p>
                  )}
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Section>
    </Page>
  )
}
