import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type Overview, overviewQuery } from '../../api/overview.ts'
import { serverClock } from '../../api/server-clock.ts'
import { TimeChart } from '../../chart/TimeChart.tsx'
import { Figure, Figures } from '../../design/Figure.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Panel, Section } from '../../design/Page.tsx'
import { RelativeTime } from '../../design/Time.tsx'
import { countOf, formatCount, formatRate, formatShortCount } from '../../format/count.ts'
import { formatDuration } from '../../format/duration.ts'
import { useScope } from '../../shell/use-scope.ts'
import { LivenessProblems } from './LivenessProblems.tsx'
import styles from './OverviewPage.module.css'
import { lagTone, startsPerMinute, totalOf } from './run-rate.ts'
import { TroubleTable } from './TroubleTable.tsx'

/** How all is, at one glance: what needs somebody comes first, and what is well takes little room. */
export function OverviewPage() {
  const query = useQuery(overviewQuery(useScope()))
  return (
    <Page title="Overview">
      <Loaded query={query} placeholder={<div className={styles.place} />}>
        {(overview) => (
          <>
            <OverviewFigures overview={overview} />
            {overview.liveness.problems.length > 0 && (
              <Section title="Open runs without a next actor" aside="nobody will go on with these by themselves">
                <LivenessProblems problems={overview.liveness.problems} />
              </Section>
            )}
            {overview.queues !== null && (
              <Section title="Queues in trouble">
                <TroubleTable queues={overview.queues.inTrouble} total={overview.queues.total} />
              </Section>
            )}
            <Section title="Runs in the last hour">
              <RunCharts minutes={overview.runs.minutes} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function OverviewFigures({ overview }: { readonly overview: Overview }) {
  const { runs, openWaits, liveness } = overview
  const { queued, running, paused } = runs.open
  const failed = totalOf(runs.minutes, 'failed')
  const problems = liveness.problems.length
  return (
    <Figures columns={4}>
      <Figure
        label="Runs per minute"
        value={formatRate(startsPerMinute(runs.minutes))}
        note={`${countOf(totalOf(runs.minutes, 'started'), 'run')} in the last hour`}
      />
      <Figure
        label="Failed"
        value={
          <FigureLink to="/runs" search={{ status: ['error'] }}>
            {formatCount(failed)}
          </FigureLink>
        }
        note="in the last hour"
        tone={failed > 0 ? 'bad' : undefined}
      />
      <Figure
        label="Open runs"
        value={formatCount(queued + running + paused)}
        note={`${formatCount(queued)} queued, ${formatCount(running)} running, ${formatCount(paused)} paused`}
      />
      <Figure
        label="Open waits"
        value={<FigureLink to="/waits">{formatCount(openWaits)}</FigureLink>}
        note="for somebody to decide"
      />
      <OperationFigures overview={overview} />
      <Figure
        label="Without a next actor"
        value={formatCount(problems)}
        note={
          <>
            open runs, checked <RelativeTime at={liveness.checkedAt} />
          </>
        }
        tone={problems > 0 ? 'bad' : undefined}
      />
    </Figures>
  )
}

/** Of what serves all workspaces: the server tells it to the operator only. */
function OperationFigures({ overview: { queues, workers, runners, outbox } }: { readonly overview: Overview }) {
  if (queues === null || runners === null) return null
  return (
    <>
      <Figure
        label="Workers alive"
        value={workers === null ? '–' : <FigureLink to="/workers">{formatCount(workers.live)}</FigureLink>}
        note={workers === null ? 'there are no step queues' : `for ${countOf(queues.total, 'queue')}`}
        tone={workers?.live === 0 && queues.inTrouble.length > 0 ? 'bad' : undefined}
      />
      <Figure
        label="Runners alive"
        value={<FigureLink to="/runners">{formatCount(runners.live)}</FigureLink>}
        note={`${formatCount(runners.runs)} of ${countOf(runners.capacity, 'run')} at once`}
      />
      <Figure
        label="Outbox lag"
        value={outbox === null ? '–' : formatDuration(outbox.oldestMs)}
        note={outbox === null ? 'runs are not mirrored' : `${countOf(outbox.unapplied, 'write')} to come`}
        tone={outbox === null ? undefined : lagTone(outbox.oldestMs)}
      />
    </>
  )
}

function FigureLink(props: {
  readonly to: '/runs' | '/waits' | '/workers' | '/runners'
  readonly search?: { readonly status: ['error'] }
  readonly children: ReactNode
}) {
  return <Link {...props} className={styles.figureLink} />
}

function RunCharts({ minutes }: { readonly minutes: Overview['runs']['minutes'] }) {
  const [lookedAt, look] = useState<number>()
  const to = Math.max(serverClock.now(), Date.parse(minutes.at(-1)?.at ?? ''))
  const shared = { range: { from: to - 3_600_000, to }, lookedAt, onLook: look, format: formatShortCount }
  const points = (kind: 'started' | 'failed') =>
    minutes.map((minute) => ({ at: Date.parse(minute.at), value: minute[kind] }))
  return (
    <Panel>
      <div className={styles.charts}>
        <TimeChart
          {...shared}
          title="Started per minute"
          series={[{ name: 'started', tone: 'active', mark: 'bar', points: points('started') }]}
        />
        <TimeChart
          {...shared}
          title="Failed per minute"
          series={[{ name: 'failed', tone: 'bad', mark: 'bar', points: points('failed') }]}
        />
      </div>
    </Panel>
  )
}
