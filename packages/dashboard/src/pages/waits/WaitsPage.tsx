import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { classNames } from '../../design/class-names.ts'
import { EmptyState } from '../../design/EmptyState.tsx'
import { ErrorState } from '../../design/ErrorState.tsx'
import { Icon } from '../../design/Icon.tsx'
import { Page, Panel } from '../../design/Page.tsx'
import { Skeleton } from '../../design/Skeleton.tsx'
import { RelativeTime, TimeUntil, useNow } from '../../design/Time.tsx'
import { countOf } from '../../format/count.ts'
import { useScope } from '../../shell/use-scope.ts'
import { RunValue } from '../run/RunValue.tsx'
import { runQuery } from '../run/run-queries.ts'
import { WaitDecision } from './WaitDecision.tsx'
import styles from './WaitsPage.module.css'
import { MOST_WAITS, type OpenWait, waitsQuery } from './wait-queries.ts'

const route = getRouteApi('/_signed-in/waits')

/** What waits for a person: the oldest first, each decided in its place. */
export function WaitsPage() {
  const scope = useScope()
  const { open } = route.useSearch()
  const navigate = route.useNavigate()
  const { data: waits, error, refetch } = useQuery(waitsQuery(scope))
  const toggle = (key: string) =>
    void navigate({
      search: (old) => ({ ...old, open: old.open === key ? undefined : key }),
      replace: true,
      resetScroll: false,
    })
  return (
    <Page title="Waits">
      {waits === undefined ? (
        error === null ? (
          <Skeleton lines={6} height="3rem" />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : waits.length === 0 ? (
        <Panel>
          <EmptyState title="Nothing waits for a decision.">
            A flow waits where it has a step <code>.wait(…)</code>: an approval, an answer, an event from outside. The
            run then stands here until somebody decides, here or with the token of the wait, or until its time is over.
          </EmptyState>
        </Panel>
      ) : (
        <>
          <p className={styles.count} role="status">
            {waits.length === MOST_WAITS
              ? `The ${MOST_WAITS} that have waited longest`
              : `${countOf(waits.length, 'run waits', 'runs wait')}, the oldest first`}
          </p>
          <ol className={styles.waits}>
            {waits.map((wait) => {
              const key = `${wait.runId}.${wait.step}`
              return <Wait key={key} wait={wait} isOpen={open === key} onToggle={() => toggle(key)} />
            })}
          </ol>
        </>
      )}
    </Page>
  )
}

function Wait({
  wait,
  isOpen,
  onToggle,
}: {
  readonly wait: OpenWait
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  const { runId, flow, placement, step, openedAt, dueAt } = wait
  return (
    <li className={styles.wait}>
      <div className={styles.line}>
        <h2 className={styles.heading}>
          <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={onToggle}>
            <span className={classNames(styles.arrow, isOpen && styles.open)}>
              <Icon name="chevron" />
            </span>
            <span className={styles.step}>{step}</span>
            <span className={styles.flow}>
              {flow}{' '}
              <span className={styles.placement}>{placement === 'queue' ? 'on step queues' : 'on a runner'}</span>
            </span>
          </button>
        </h2>
        <span className={styles.times}>
          <span>
            opened <RelativeTime at={openedAt} />
          </span>
          {dueAt === null ? <span>waits for ever</span> : <Due at={dueAt} />}
        </span>
        <Link to="/runs/$runId" params={{ runId }} search={{ step }} className={styles.run}>
          <code>{runId.slice(-12)}</code>
        </Link>
      </div>
      {isOpen && (
        <div className={styles.opened}>
          <WaitDecision runId={runId} step={step} />
          <InputOfRun runId={runId} />
        </div>
      )}
    </li>
  )
}

/** What the decision is about. */
function InputOfRun({ runId }: { readonly runId: string }) {
  const scope = useScope()
  const { data: run, error, refetch } = useQuery(runQuery(scope, runId))
  if (run !== undefined) return <RunValue run={run} which="input" bytes={run.inputBytes} />
  return error === null ? (
    <Skeleton lines={4} height="1.5rem" />
  ) : (
    <ErrorState error={error} onRetry={() => void refetch()} />
  )
}

const SOON_MS = 60 * 60_000

/** Stands out when little time is left. */
function Due({ at }: { readonly at: string }) {
  const isSoon = Date.parse(at) - useNow() < SOON_MS
  return (
    <span className={classNames(isSoon && styles.soon)}>
      {isSoon && <Icon name="warning" size={12} />} times out <TimeUntil at={at} />
    </span>
  )
}
