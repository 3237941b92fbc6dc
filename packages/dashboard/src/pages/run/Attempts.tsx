import { Status } from '../../design/Status.tsx'
import { Duration } from '../../design/Time.tsx'
import { formatInstant } from '../../format/instant.ts'
import styles from './Attempts.module.css'
import { ErrorText } from './ErrorText.tsx'
import type { AttemptView } from './run-queries.ts'
import { lookOfOutcome, outcomeText } from './run-words.ts'

/** The attempts of a task, the last one on top. */
export function Attempts({
  attempts,
  told,
}: {
  readonly attempts: readonly AttemptView[]
  /** An error that is shown already: the last attempt does not say it again. */
  readonly told?: string | null
}) {
  return (
    <section className={styles.attempts} aria-label="Attempts">
      <h3>Attempts</h3>
      <ol className={styles.list}>
        {attempts.toReversed().map((attempt) => (
          <li key={attempt.attempt} className={styles.attempt}>
            <Attempt attempt={attempt} isTold={attempt === attempts.at(-1) && attempt.error === told} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function Attempt({ attempt, isTold }: { readonly attempt: AttemptView; readonly isTold: boolean }) {
  const { startedAt, endedAt, outcome, error, errorName, errorStack } = attempt
  const text = outcomeText(outcome)
  return (
    <>
      <p className={styles.line}>
        <span className={styles.number}>{attempt.attempt}</span>
        <Status status={lookOfOutcome(outcome)} isPlain />
        {startedAt !== null && (
          <span className={styles.took} title={formatInstant(startedAt)}>
            <Duration from={startedAt} to={endedAt} />
          </span>
        )}
      </p>
      {attempt.worker !== null && (
        <p className={styles.worker} title={attempt.worker}>
          {attempt.function ?? 'worker'} <code>{attempt.worker.slice(0, 8)}</code>
        </p>
      )}
      {text !== undefined && <p className={styles.worker}>{text}</p>}
      {error !== null && !isTold && (
        <ErrorText title={`Error of attempt ${attempt.attempt}`} name={errorName} message={error} stack={errorStack} />
      )}
    </>
  )
}
