import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { RelativeTime } from '../../design/Time.tsx'
import { formatCount } from '../../format/count.ts'
import styles from './FlowFacts.module.css'
import type { FlowSummary } from './flow-queries.ts'
import { placementsText } from './flow-versions.ts'

/** Where a flow runs, and what is under way of it. */
export function FlowFacts({ flow }: { readonly flow: FlowSummary }) {
  const { drain, compiledAt, pausedAt } = flow
  return (
    <dl className={styles.facts}>
      <Fact name="Runs on">{placementsText(flow)}</Fact>
      <Fact name="Compiled">{compiledAt === null ? 'not in the database' : <RelativeTime at={compiledAt} />}</Fact>
      {drain !== null && (
        <>
          <Fact name="Open runs on queues">
            {drain.openRuns === 0 ? (
              'none'
            ) : (
              <Link to="/runs" search={{ flow: flow.flow, status: ['running'], placement: 'queue' }}>
                {formatCount(drain.openRuns)}
              </Link>
            )}
            {drain.oldestOpenRunAt !== null && (
              <span className={styles.quiet}>
                {' '}
                the oldest <RelativeTime at={drain.oldestOpenRunAt} />
              </span>
            )}
          </Fact>
          <Fact name="Open waits">{drain.openWaits === 0 ? 'none' : formatCount(drain.openWaits)}</Fact>
          <Fact name="Live workers">{formatCount(drain.liveWorkers)}</Fact>
        </>
      )}
      {pausedAt !== null && (
        <Fact name="Paused">
          <RelativeTime at={pausedAt} />
        </Fact>
      )}
    </dl>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
