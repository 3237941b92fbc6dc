import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { buttonClass } from '../../design/Button.tsx'
import { EmptyState } from '../../design/EmptyState.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Page, Panel, Section } from '../../design/Page.tsx'
import { Status } from '../../design/Status.tsx'
import { StepGraph } from '../../graph/StepGraph.tsx'
import { FlowFacts } from './FlowFacts.tsx'
import styles from './FlowPage.module.css'
import { FlowSteps } from './FlowSteps.tsx'
import { type FlowSummary, flowsQuery } from './flow-queries.ts'
import { StartRun } from './StartRun.tsx'

const route = getRouteApi('/_signed-in/flows/$flow')

/** One flow: its shape, its settings, and how a run of it is started. */
export function FlowPage() {
  const { flow: slug } = route.useParams()
  const query = useQuery(flowsQuery)
  const flow = query.data?.find((each) => each.flow === slug)
  return (
    <Page
      title={slug}
      titleNode={
        <div className={styles.title}>
          <h1>{slug}</h1>
          {flow?.isPaused && <Status status="paused" />}
        </div>
      }
      above={<Link to="/flows">Flows</Link>}
      actions={
        <Link to="/runs" search={{ flow: slug }} className={buttonClass()}>
          Its runs
        </Link>
      }
    >
      <Loaded query={query}>
        {() =>
          flow === undefined ? (
            <EmptyState
              title="There is no such flow."
              action={
                <Link to="/flows" className={buttonClass()}>
                  To the flows
                </Link>
              }
            >
              It is neither compiled in the database nor loaded by this server.
            </EmptyState>
          ) : (
            <LoadedFlow key={slug} flow={flow} />
          )
        }
      </Loaded>
    </Page>
  )
}

function LoadedFlow({ flow }: { readonly flow: FlowSummary }) {
  const { step: selected = null, from } = route.useSearch()
  const navigate = route.useNavigate()
  const select = (step: string | null) =>
    void navigate({ search: (old) => ({ ...old, step: step ?? undefined }), replace: true, resetScroll: false })
  const steps = useMemo(() => flow.steps.map(({ step, type, dependsOn }) => ({ step, type, dependsOn })), [flow.steps])
  return (
    <>
      <FlowFacts flow={flow} />
      <div className={styles.columns}>
        <div className={styles.shape}>
          <Panel isFlush>
            <div className={styles.picture}>
              <StepGraph label="Shape" steps={steps} selected={selected} onSelect={select} />
            </div>
          </Panel>
        </div>
        <div className={styles.start}>
          <Section title="Start a run">
            <Panel>
              <StartRun flow={flow} from={from} />
            </Panel>
          </Section>
        </div>
        <div className={styles.steps}>
          <Section title="Steps">
            <FlowSteps flow={flow} selected={selected} />
          </Section>
        </div>
      </div>
    </>
  )
}
