import { Link } from '@tanstack/react-router'
import { Panel, Section } from '../../design/Page.tsx'
import { RelativeTime } from '../../design/Time.tsx'
import { countOf } from '../../format/count.ts'
import styles from './FlowVersions.module.css'
import type { FlowSummary } from './flow-queries.ts'
import { otherVersions, standingText } from './flow-versions.ts'

/** The other versions of a flow, and what is left of each; nothing where there is none. */
export function FlowVersions({ flow, flows }: { readonly flow: FlowSummary; readonly flows: readonly FlowSummary[] }) {
  const others = otherVersions(flows, flow)
  if (others.length === 0) return null
  return (
    <Section title="Other versions">
      <Panel isFlush>
        <ul className={styles.list}>
          {others.map((listed) => (
            <li key={listed.flow.flow} className={styles.line}>
              <Link to="/flows/$flow" params={{ flow: listed.flow.flow }}>
                {listed.flow.flow}
              </Link>
              <span>{standingText(listed)}</span>
              <span className={styles.quiet}>
                {listed.flow.drain !== null && listed.flow.drain.openRuns > 0 && (
                  <>
                    {countOf(listed.flow.drain.openRuns, 'open run')}
                    {listed.flow.drain.oldestOpenRunAt !== null && (
                      <>
                        , the oldest <RelativeTime at={listed.flow.drain.oldestOpenRunAt} />
                      </>
                    )}
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
    </Section>
  )
}

/** When runs of a flow are started by the clock; nothing where they are not. */
export function FlowSchedules({ flow }: { readonly flow: FlowSummary }) {
  if (flow.schedules.length === 0) return null
  return (
    <Section title="Schedules">
      <Panel isFlush>
        <ul className={styles.list}>
          {flow.schedules.map(({ source, name, schedule, timeZone, isActive }) => (
            <li key={`${source} ${name}`} className={styles.line}>
              <span>{name}</span>
              <code>{schedule}</code>
              <span className={styles.quiet}>
                {source === 'pg_cron' ? 'a job of the database' : 'a trigger of starflow.yaml'}
                {timeZone !== null && `, ${timeZone}`}
                {!isActive && ', switched off'}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
    </Section>
  )
}
