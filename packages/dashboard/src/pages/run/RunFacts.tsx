import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Icon } from '../../design/Icon.tsx'
import { Duration, RelativeTime } from '../../design/Time.tsx'
import { formatInstant } from '../../format/instant.ts'
import styles from './RunFacts.module.css'
import type { RunDetail } from './run-queries.ts'

/** When, where and for whom a run goes; and what stands in its way. */
export function RunFacts({
  run,
  onSelect,
}: {
  readonly run: RunDetail
  readonly onSelect: (step: string | null) => void
}) {
  const failed = run.steps.find(({ status }) => status === 'failed')
  const waiting = run.steps.filter(({ status }) => status === 'waiting')
  return (
    <div className={styles.facts}>
      <dl className={styles.list}>
        <Fact name="Started">
          <span title={formatInstant(run.createdAt)}>
            <RelativeTime at={run.createdAt} />
          </span>
        </Fact>
        <Fact name="Duration">
          {run.startedAt === null ? 'not begun' : <Duration from={run.startedAt} to={run.endedAt} />}
        </Fact>
        <Fact name="Runs on">
          {run.placement === 'queue' ? 'step queues' : `a runner${run.pool === null ? '' : ` of ${run.pool}`}`}
        </Fact>
        {run.leasedBy !== null && (
          <Fact name="Held by">
            <Link to="/runners">{run.leasedBy}</Link>
          </Fact>
        )}
        <Fact name="Workspace">{run.workspace ?? 'none: started in SQL'}</Fact>
        {run.env !== null && <Fact name="Environment">{run.env}</Fact>}
      </dl>
      {run.status === 'error' && (
        <Note kind="bad" action={failed && <StepButton step={failed.step} onSelect={onSelect} />}>
          <strong>{failed === undefined ? 'It failed.' : `Step ${failed.step} failed.`}</strong>{' '}
          {run.error ?? failed?.error}
        </Note>
      )}
      {run.status === 'cancelled' && (
        <Note kind="quiet">
          <strong>It was cancelled.</strong> {run.cancelReason}
        </Note>
      )}
      {waiting.map(({ step }) => (
        <Note key={step} kind="held" action={<StepButton step={step} onSelect={onSelect} word="Decide" />}>
          <strong>It waits for a decision</strong> about {step}.
        </Note>
      ))}
    </div>
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

function Note({
  kind,
  action,
  children,
}: {
  readonly kind: 'bad' | 'held' | 'quiet'
  readonly action?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <div className={`${styles.note} ${styles[kind]}`}>
      <Icon name={kind === 'bad' ? 'warning' : kind === 'held' ? 'waits' : 'close'} />
      <p>{children}</p>
      {action}
    </div>
  )
}

function StepButton({
  step,
  word = 'Look at it',
  onSelect,
}: {
  readonly step: string
  readonly word?: string
  readonly onSelect: (step: string | null) => void
}) {
  return (
    <button type="button" className={styles.lead} aria-label={`${word}: ${step}`} onClick={() => onSelect(step)}>
      {word}
    </button>
  )
}
