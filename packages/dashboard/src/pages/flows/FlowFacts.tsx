import type { ReactNode } from 'react'
import { RelativeTime } from '../../design/Time.tsx'
import styles from './FlowFacts.module.css'
import { placementsText } from './FlowsPage.tsx'
import type { FlowSummary } from './flow-queries.ts'

/** Where a flow runs and how it is set up. */
export function FlowFacts({ flow }: { readonly flow: FlowSummary }) {
  return (
    <dl className={styles.facts}>
      <Fact name="Runs on">{placementsText(flow.placements, flow.queueMode)}</Fact>
      <Fact name="Compiled">
        {flow.compiledAt === null ? 'not in the database' : <RelativeTime at={flow.compiledAt} />}
      </Fact>
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
