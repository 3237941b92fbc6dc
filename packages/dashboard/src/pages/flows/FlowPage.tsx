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
import { FlowSchedules, FlowVersions } from './FlowVersions.tsx'
import { type FlowSummary, flowsQuery } from './flow-queries.ts'
import { PauseFlow } from './PauseFlow.tsx'
import { StartRun } from './StartRun.tsx'
import { StepDetails } from './StepDetails.tsx'

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
        <>
          {flow !== undefined && <PauseFlow flow={flow} />}
          <Link to="/runs" search={{ flow: slug }} className={buttonClass()}>
            Its runs
          </Link>
        </>
      }
    >
      <Loaded query={query}>
        {(flows) =>
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
            <LoadedFlow key={slug} flow={flow} flows={flows} />
          )
        }
      </Loaded>
    </Page>
  )
}

function LoadedFlow({ flow, flows }: { readonly flow: FlowSummary; readonly flows: readonly FlowSummary[] }) {
  const { step: selected = null, from } = route.useSearch()
  const navigate = route.useNavigate()
  const select = (step: string | null) =>
    void navigate({ search: (old) => ({ ...old, step: step ?? undefined }), replace: true, resetScroll: false })
  const chosen = flow.steps.find(({ step }) => step === selected)
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
            {chosen !== undefined && <StepDetails key={chosen.step} step={chosen} onClose={() => select(null)} />}
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
            <FlowSteps steps={flow.steps} selected={selected} />
          </Section>
          <FlowVersions flow={flow} flows={flows} />
          <FlowSchedules flow={flow} />
        </div>
      </div>
    </>
  )
}
