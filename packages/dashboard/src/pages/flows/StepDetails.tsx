import { Link } from '@tanstack/react-router'
import { IconButton } from '../../design/Button.tsx'
import { JsonTree } from '../../json/JsonTree.tsx'
import type { JsonValue } from '../../json/json-value.ts'
import type { FlowStep } from './flow-queries.ts'
import styles from './StepDetails.module.css'
import { attemptsText, unmetText } from './step-words.ts'

/** What is set of one step of a flow, in sentences. */
export function StepDetails({ step, onClose }: { readonly step: FlowStep; readonly onClose: () => void }) {
  const { condition, dependsOn, queue } = step
  return (
    <section className={styles.details} aria-label={`Step ${step.step}`}>
      <header className={styles.header}>
        <h3>{step.step}</h3>
        <IconButton icon="close" label="Close the step" size="small" onClick={onClose} />
      </header>
      <p>
        {dependsOn.length === 0 ? 'It begins with the run.' : `It begins after ${dependsOn.join(', ')}.`}{' '}
        {attemptsText(step).join(' ')}
      </p>
      {condition !== null && (
        <div className={styles.condition}>
          {condition.if !== null && (
            <>
              <p>Only if {dependsOn.length === 0 ? 'the input contains' : 'the outputs contain'}</p>
              <JsonTree value={condition.if as JsonValue} label="Required" />
            </>
          )}
          {condition.ifNot !== null && (
            <>
              <p>Only if {dependsOn.length === 0 ? 'the input does not contain' : 'the outputs do not contain'}</p>
              <JsonTree value={condition.ifNot as JsonValue} label="Forbidden" />
            </>
          )}
          <p>{unmetText(condition.whenUnmet)}</p>
        </div>
      )}
      {queue !== null && (
        <p>
          Its tasks go through{' '}
          <Link to="/queues/$queue" params={{ queue }}>
            {queue}
          </Link>
          .
        </p>
      )}
    </section>
  )
}
