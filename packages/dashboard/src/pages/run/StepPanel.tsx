import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { IconButton } from '../../design/Button.tsx'
import { Status } from '../../design/Status.tsx'
import { Duration, RelativeTime, TimeUntil } from '../../design/Time.tsx'
import { formatDuration } from '../../format/duration.ts'
import { JsonPayload } from '../../json/JsonPayload.tsx'
import type { JsonValue } from '../../json/json-value.ts'
import { useScope } from '../../shell/use-scope.ts'
import { WaitDecision } from '../waits/WaitDecision.tsx'
import { Attempts } from './Attempts.tsx'
import { ErrorText } from './ErrorText.tsx'
import type { RunPanelProps } from './RunPanel.tsx'
import { shownStatus } from './run-marks.ts'
import { hasEnded, progressQuery, type RunDetail, type StepView } from './run-queries.ts'
import { inlineValue, loadStepOutput } from './run-values.ts'
import { skipReasonText } from './run-words.ts'
import { SiblingSteps } from './SiblingSteps.tsx'
import styles from './StepPanel.module.css'
import { StepTasks } from './StepTasks.tsx'
import { tasksQuery } from './task-queries.ts'

const TYPES = { single: 'step', map: 'map: a task for each element', wait: 'wait for a decision' } as const

/** One step of a run: how it stands, what went wrong, what came of it. */
export function StepPanel({
  run,
  step,
  task,
  onSelect,
}: Omit<RunPanelProps, 'selected'> & { readonly step: StepView }) {
  const status = shownStatus(run, step)
  return (
    <div className={styles.parts}>
      <header className={styles.header}>
        <div className={styles.title}>
          <h2>{step.step}</h2>
          <Status status={status} />
        </div>
        <IconButton icon="close" label="Back to the run" size="small" onClick={() => onSelect(null)} />
      </header>
      <StepFacts run={run} step={step} onSelect={onSelect} />
      <SiblingSteps run={run} step={step} onSelect={onSelect} />
      {step.skipReason !== null && <p className={styles.note}>{skipReasonText(step.skipReason)}</p>}
      {step.error !== null && (
        <ErrorText
          title={step.status === 'failed' ? 'Why it failed' : 'What the last attempt failed with'}
          name={step.errorName}
          message={step.error}
          stack={step.errorStack}
        />
      )}
      {step.type === 'wait' && step.status === 'waiting' && <WaitDecision runId={run.runId} step={step.step} />}
      {run.placement === 'runner' && step.status === 'started' && <StepProgress runId={run.runId} step={step.step} />}
      {step.outputBytes !== null && <StepOutput run={run} step={step} />}
      {step.type === 'map' && step.tasks !== null && (
        <StepTasks
          run={run}
          step={step}
          counts={step.tasks}
          selected={task}
          onSelect={(index) => onSelect(step.step, index)}
        />
      )}
      {step.type === 'single' && <StepAttempts run={run} step={step} />}
    </div>
  )
}

/** What a handler last said with `ctx.progress`, of each element of a map that runs. */
function StepProgress({ runId, step }: { readonly runId: string; readonly step: string }) {
  const { data } = useQuery(progressQuery(useScope(), runId))
  const told = (data?.run?.active ?? []).filter(
    ({ node, progress }) => progress !== null && (node === step || node.startsWith(`${step}[`)),
  )
  return told.map(({ node, progress }) => (
    <JsonPayload
      key={node}
      title={node === step ? 'Progress' : `Progress of ${node}`}
      fileName={`${node}-progress`}
      value={progress as JsonValue}
      bytes={JSON.stringify(progress).length}
    />
  ))
}

function StepFacts({ run, step, onSelect }: Pick<RunPanelProps, 'run' | 'onSelect'> & { readonly step: StepView }) {
  const { type, dependsOn, startedAt, readyAt, endedAt, dueAt, attempts, maxAttempts, timeoutSeconds, queue } = step
  const isOpen = endedAt === null && !hasEnded(run)
  return (
    <dl className={styles.facts}>
      <Fact name="Type">{TYPES[type]}</Fact>
      {dependsOn.length > 0 && (
        <Fact name="After">
          {dependsOn.slice(0, MOST_NAMED).map((slug, index) => (
            <span key={slug}>
              {index > 0 && ', '}
              <button type="button" className={styles.step} onClick={() => onSelect(slug)}>
                {slug}
              </button>
            </span>
          ))}
          {dependsOn.length > MOST_NAMED && ` and ${dependsOn.length - MOST_NAMED} more`}
        </Fact>
      )}
      {queue !== null && (
        <Fact name="Queue">
          <Link to="/queues/$queue" params={{ queue }}>
            {queue}
          </Link>
        </Fact>
      )}
      {startedAt !== null ? (
        <>
          <Fact name={type === 'wait' ? 'Opened' : 'Started'}>
            <RelativeTime at={startedAt} />
            {readyAt !== null && type !== 'wait' && Date.parse(startedAt) - Date.parse(readyAt) > 0 && (
              <span className={styles.quiet}>
                {' '}
                after waiting {formatDuration(Date.parse(startedAt) - Date.parse(readyAt))}
              </span>
            )}
          </Fact>
          {(endedAt !== null || isOpen) && (
            <Fact name={type === 'wait' ? 'Open for' : 'Took'}>
              <Duration from={startedAt} to={endedAt} />
            </Fact>
          )}
        </>
      ) : (
        readyAt !== null && (
          <Fact name="Ready">
            <RelativeTime at={readyAt} />
          </Fact>
        )
      )}
      {isOpen && dueAt !== null && (
        <Fact name={type === 'wait' ? 'Times out' : 'Next attempt'}>
          <TimeUntil at={dueAt} />
        </Fact>
      )}
      {type !== 'wait' && attempts > 0 && (
        <Fact name="Attempts">
          {attempts}
          {maxAttempts !== null && ` of ${maxAttempts}`}
        </Fact>
      )}
      {timeoutSeconds !== null && <Fact name="Timeout">{formatDuration(timeoutSeconds * 1000)}</Fact>}
    </dl>
  )
}

/** A step may depend on a thousand others. */
const MOST_NAMED = 8

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function StepOutput({ run, step }: { readonly run: RunDetail; readonly step: StepView }) {
  const scope = useScope()
  const bytes = step.outputBytes ?? 0
  return (
    <JsonPayload
      // What was loaded before a retry is another value.
      key={step.endedAt}
      title={step.type === 'wait' ? 'What was decided' : 'Output'}
      fileName={`${run.flow}-${run.runId.slice(-12)}-${step.step}`}
      bytes={bytes}
      value={inlineValue(step.output, bytes)}
      load={(signal) => loadStepOutput(scope, run.runId, step.step, undefined, signal)}
      loadKey={[run.runId, step.step, step.endedAt]}
    />
  )
}

/** Attempts of a step with one task; where one went well there is nothing to tell. */
function StepAttempts({ run, step }: { readonly run: RunDetail; readonly step: StepView }) {
  const scope = useScope()
  const tasks = useQuery({
    ...tasksQuery(scope, run.runId, step.step),
    enabled: step.spans.length > 0,
  })
  const attempts = tasks.data?.tasks[0]?.attempts ?? []
  return attempts.length > 0 && <Attempts attempts={attempts} told={step.error} />
}
