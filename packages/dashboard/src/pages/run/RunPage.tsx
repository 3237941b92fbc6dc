import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { isNotFound } from '../../api/api-error.ts'
import { buttonClass } from '../../design/Button.tsx'
import { EmptyState } from '../../design/EmptyState.tsx'
import { ErrorState } from '../../design/ErrorState.tsx'
import { Page, Panel, Section } from '../../design/Page.tsx'
import { Skeleton } from '../../design/Skeleton.tsx'
import { useNow } from '../../design/Time.tsx'
import { StepGraph } from '../../graph/StepGraph.tsx'
import { useScope } from '../../shell/use-scope.ts'
import { Waterfall } from '../../waterfall/Waterfall.tsx'
import { waterfall } from '../../waterfall/waterfall.ts'
import { RunActions } from './RunActions.tsx'
import { RunEvents } from './RunEvents.tsx'
import { RunFacts } from './RunFacts.tsx'
import styles from './RunPage.module.css'
import { RunPanel } from './RunPanel.tsx'
import { RunTitle } from './RunTitle.tsx'
import { marksOf } from './run-marks.ts'
import { hasEnded, type RunDetail, runQuery } from './run-queries.ts'
import { timedRun } from './run-timeline.ts'
import { useRunEvents } from './use-run-events.ts'

const route = getRouteApi('/_signed-in/runs/$runId')

/** One run: how it goes, step by step, and what can be done about it. */
export function RunPage() {
  const { runId } = route.useParams()
  const scope = useScope()
  const { data: run, error, refetch } = useQuery(runQuery(scope, runId))
  if (run !== undefined) return <LoadedRun key={runId} run={run} />
  return (
    <Page title="Run" above={<Link to="/runs">Runs</Link>}>
      {isNotFound(error) ? (
        <EmptyState
          title="There is no such run."
          action={
            <Link to="/runs" className={buttonClass()}>
              To the runs
            </Link>
          }
        >
          It was deleted, or belongs to another workspace.
        </EmptyState>
      ) : error === null ? (
        <Skeleton lines={8} height="2.5rem" />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  )
}

function LoadedRun({ run }: { readonly run: RunDetail }) {
  const scope = useScope()
  const { step: chosen, task } = route.useSearch()
  const navigate = route.useNavigate()
  const selected = run.steps.some(({ step }) => step === chosen) ? chosen! : null
  const select = useCallback(
    (step: string | null, index?: number) =>
      void navigate({
        search: (old) => ({ ...old, step: step ?? undefined, task: index }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  )
  const events = useRunEvents(scope, run)
  const steps = useMemo(() => run.steps.map(({ step, type, dependsOn }) => ({ step, type, dependsOn })), [run.steps])
  const marks = useMemo(() => marksOf(run), [run])
  return (
    <Page
      title={`${run.flow} ${run.status}`}
      titleNode={<RunTitle run={run} />}
      above={
        <>
          <Link to="/runs">Runs</Link> /{' '}
          <Link to="/runs" search={{ flow: run.flow }}>
            {run.flow}
          </Link>
        </>
      }
      actions={<RunActions run={run} />}
    >
      <RunFacts run={run} onSelect={select} />
      <div className={styles.columns}>
        <div className={styles.graph}>
          <Panel isFlush>
            <div className={styles.picture}>
              <StepGraph label="Steps" steps={steps} marks={marks} selected={selected} onSelect={select} />
            </div>
          </Panel>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard. */}
        <aside className={styles.panel} tabIndex={0} aria-label={selected === null ? 'The run' : `Step ${selected}`}>
          <RunPanel run={run} selected={selected} task={task} onSelect={select} />
        </aside>
        <div className={styles.timeline}>
          <Timeline run={run} selected={selected} onSelect={select} />
        </div>
        <div className={styles.events}>
          <RunEvents events={events} onSelect={select} />
        </div>
      </div>
    </Page>
  )
}

function Timeline({
  run,
  selected,
  onSelect,
}: {
  readonly run: RunDetail
  readonly selected: string | null
  readonly onSelect: (step: string | null) => void
}) {
  const now = useNow()
  const timed = useMemo(() => timedRun(run), [run])
  const model = useMemo(() => waterfall(timed, hasEnded(run) ? 0 : now), [timed, run, now])
  return (
    <Section title="Timeline">
      <Panel isFlush>
        {model.rows.length === 0 ? (
          <EmptyState title="Nothing has begun yet.">
            {run.status === 'queued' ? 'The run waits for a runner.' : 'The first steps wait for a worker.'}
          </EmptyState>
        ) : (
          <Waterfall model={model} selected={selected} onSelect={onSelect} />
        )}
      </Panel>
    </Section>
  )
}
