import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { functionsQuery } from '../../api/functions.ts'
import { joined } from '../../api/joined.ts'
import { queuesQuery } from '../../api/queues.ts'
import { type Worker, workersQuery } from '../../api/workers.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { Figure, Figures } from '../../design/Figure.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Notice } from '../../design/Notice.tsx'
import { Page, Section } from '../../design/Page.tsx'
import { SegmentedControl } from '../../design/SegmentedControl.tsx'
import { Table } from '../../design/Table.tsx'
import { formatCount, formatRate } from '../../format/count.ts'
import { formatDuration } from '../../format/duration.ts'
import { flowsQuery } from '../flows/flow-queries.ts'
import { FunctionTable } from '../functions/FunctionTable.tsx'
import { WORKER_COLUMNS, WORKERS_MIN_WIDTH } from '../workers/worker-columns.tsx'
import { QueueHistory } from './QueueHistory.tsx'
import { QueueState } from './QueueTable.tsx'
import { type QueueRow, queueRows } from './queue-row.ts'
import { RANGES, type Range } from './queue-search.ts'
import { depthText, TROUBLE_MEANING } from './queue-words.ts'

/** One queue: what waits, how it went, and who serves it. */
export function QueuePage() {
  const { queue } = useParams({ from: '/_signed-in/queues/$queue' })
  const query = joined(useQuery(queuesQuery), useQuery(functionsQuery), useQuery(flowsQuery))
  const row = query.data && queueRows(...query.data).find((each) => each.queue === queue)
  return (
    <Page
      title={queue}
      above={<Link to="/queues">Queues</Link>}
      below={row && <Purpose row={row} />}
      actions={row !== undefined && row.troubles.length === 0 && <QueueState row={row} />}
    >
      <Loaded query={query}>{() => (row === undefined ? <NoSuchQueue name={queue} /> : <Details row={row} />)}</Loaded>
    </Page>
  )
}

function Details({ row }: { readonly row: QueueRow }) {
  const { range = '1h' } = useSearch({ from: '/_signed-in/queues/$queue' })
  const navigate = useNavigate({ from: '/queues/$queue' })
  const workers = useQuery(workersQuery(false))
  return (
    <>
      {row.troubles.map((trouble) => (
        <Notice
          key={trouble}
          title={TITLES[trouble]}
          tone={trouble === 'gone' || trouble === 'no_worker' ? 'bad' : 'warn'}
        >
          <p>{TROUBLE_MEANING[trouble]}</p>
        </Notice>
      ))}
      <Figures columns={6}>
        <Figure label="Depth" value={depthText(row.depth) ?? '–'} note="with those in flight" />
        <Figure label="In flight" value={depthText(row.inFlight) ?? '–'} note="taken, and not settled" />
        <Figure
          label="Waits for"
          value={row.waitingSeconds === null ? '–' : formatDuration(row.waitingSeconds * 1_000)}
          note="what could be taken"
          tone={row.troubles.includes('waiting') ? 'warn' : undefined}
        />
        <Figure
          label="Done per minute"
          value={row.donePerMinute === null ? '–' : formatRate(row.donePerMinute)}
          note={row.donePerMinute === null ? 'too few samples yet' : 'over the last minute'}
        />
        <Figure
          label="Stalled"
          value={formatCount(row.stalled)}
          note="tasks to be recovered"
          tone={row.stalled > 0 ? 'warn' : undefined}
        />
        <Figure
          label="Unsupported"
          value={row.unsupported === null ? '–' : formatCount(row.unsupported)}
          note="messages without a task"
          tone={(row.unsupported ?? 0) > 0 ? 'warn' : undefined}
        />
      </Figures>
      <Section
        title="History"
        aside={
          <SegmentedControl
            label="How far back"
            options={Object.keys(RANGES) as Range[]}
            value={range}
            onChange={(next) =>
              navigate({
                search: (before) => ({ ...before, range: next === '1h' ? undefined : next }),
                replace: true,
              })
            }
          />
        }
      >
        <QueueHistory queue={row.queue} hours={RANGES[range]} />
      </Section>
      <Section title="Functions">
        <FunctionTable functions={row.workerFunctions} empty="No worker function serves this queue." />
      </Section>
      <Section title="Workers">
        <Loaded query={workers}>
          {(all) => (
            <Table<Worker>
              label="Workers"
              columns={WORKER_COLUMNS}
              minWidth={WORKERS_MIN_WIDTH}
              rows={all.filter(({ queue }) => queue === row.queue)}
              rowKey={({ workerId }) => workerId}
              empty={<EmptyState title="No worker of this queue lives." />}
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}

function Purpose({ row: { flow, stepSlugs } }: { readonly row: QueueRow }) {
  if (flow === undefined) return 'Belongs to no flow: its handler is a queue worker.'
  return (
    <>
      {stepSlugs.length === 1 ? 'Step' : 'Steps'} {stepSlugs.join(', ')} of{' '}
      <Link to="/flows/$flow" params={{ flow }}>
        {flow}
      </Link>
    </>
  )
}

const TITLES = {
  gone: 'The queue is gone',
  fenced: 'Work waits behind a fence',
  no_worker: 'Work waits, and no worker lives',
  stalled: 'Tasks have stalled',
  waiting: 'Work waits for too long',
  unsupported: 'Unsupported messages',
} as const

function NoSuchQueue({ name }: { readonly name: string }) {
  return (
    <EmptyState title={`There is no queue “${name}”.`} action={<Link to="/queues">Show all queues</Link>}>
      <p>No route leads there, and no worker function serves it.</p>
    </EmptyState>
  )
}
