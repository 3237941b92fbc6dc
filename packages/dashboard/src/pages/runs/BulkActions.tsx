import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../design/Button.tsx'
import { Dialog } from '../../design/Dialog.tsx'
import { ErrorNote } from '../../design/ErrorState.tsx'
import { Field, TextInput } from '../../design/Field.tsx'
import { countOf, formatCount } from '../../format/count.ts'
import { useScope } from '../../shell/use-scope.ts'
import styles from './BulkActions.module.css'
import { shortId } from './RunRow.tsx'
import { type BulkOutcome, type RunSummary, steerRuns } from './run-queries.ts'

type Action = 'cancel' | 'retry'

/** What a run must be for an action to do something. */
const FITTING: Readonly<Record<Action, readonly RunSummary['status'][]>> = {
  cancel: ['queued', 'running', 'paused'],
  retry: ['error', 'cancelled'],
}

/** What can be done with the runs that are selected. */
export function BulkActions({ runs, onDone }: { readonly runs: readonly RunSummary[]; readonly onDone: () => void }) {
  const [action, setAction] = useState<Action | null>(null)
  const fitting = (of: Action) => runs.filter(({ status }) => FITTING[of].includes(status))
  const [toCancel, toRetry] = [fitting('cancel'), fitting('retry')]
  return (
    <section className={styles.bar} aria-label="Selected runs">
      <p className={styles.count} role="status">
        {formatCount(runs.length)} selected
      </p>
      <div className={styles.buttons}>
        <Button disabled={toCancel.length === 0} kind="danger" onClick={() => setAction('cancel')}>
          Cancel {toCancel.length > 0 && formatCount(toCancel.length)}
        </Button>
        <Button disabled={toRetry.length === 0} icon="refresh" onClick={() => setAction('retry')}>
          Retry {toRetry.length > 0 && formatCount(toRetry.length)}
        </Button>
        <Button kind="quiet" icon="close" onClick={onDone} aria-label="Clear the selection">
          Clear
        </Button>
      </div>
      {action !== null && (
        <BulkDialog
          action={action}
          runs={action === 'cancel' ? toCancel : toRetry}
          others={runs.length - (action === 'cancel' ? toCancel : toRetry).length}
          onClose={(isDone) => {
            setAction(null)
            if (isDone) onDone()
          }}
        />
      )}
    </section>
  )
}

const WORDS = {
  cancel: {
    title: (count: string) => `Cancel ${count}?`,
    verb: 'Cancel them',
    text: 'Steps that have completed stay; nothing else begins.',
    done: 'cancelled',
  },
  retry: {
    title: (count: string) => `Retry ${count}?`,
    verb: 'Retry them',
    text: 'Each goes on where it stopped; failed steps get all their attempts again.',
    done: 'started again',
  },
} as const

/** Asks, shows how far it is, and then what became of each run that is not as it was asked for. */
function BulkDialog({
  action,
  runs: selected,
  others,
  onClose,
}: {
  readonly action: Action
  readonly runs: readonly RunSummary[]
  /** Selected runs that the action is not for. */
  readonly others: number
  readonly onClose: (isDone: boolean) => void
}) {
  // As they were when it was asked: their statuses change under it.
  const [runs] = useState(selected)
  const [othersThen] = useState(others)
  const [reason, setReason] = useState('')
  const [done, setDone] = useState(0)
  const scope = useScope()
  const client = useQueryClient()
  const words = WORDS[action]
  const steer = useMutation({
    mutationFn: () =>
      steerRuns(
        scope,
        action,
        runs.map(({ runId }) => runId),
        { reason: reason.trim() === '' ? undefined : reason.trim(), onProgress: setDone },
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ['runs'] }),
  })
  const close = () => {
    if (!steer.isPending) onClose(steer.isSuccess)
  }
  return (
    <Dialog
      title={steer.isSuccess ? 'Done' : words.title(countOf(runs.length, 'run'))}
      onClose={close}
      actions={
        steer.isSuccess ? (
          <Button kind="primary" onClick={close}>
            Close
          </Button>
        ) : (
          <>
            <Button onClick={close}>Back</Button>
            <Button
              kind={action === 'cancel' ? 'danger' : 'primary'}
              isBusy={steer.isPending}
              onClick={() => steer.mutate()}
            >
              {steer.isPending ? `${formatCount(done)} of ${formatCount(runs.length)} …` : words.verb}
            </Button>
          </>
        )
      }
    >
      {steer.isSuccess ? (
        <Outcomes outcomes={steer.data} done={words.done} runs={runs} />
      ) : (
        <>
          <p>{words.text}</p>
          {othersThen > 0 && (
            <p>
              {countOf(othersThen, 'selected run is', 'selected runs are')} left out: their status does not allow it.
            </p>
          )}
          {action === 'cancel' && (
            <Field label="Reason" help="Kept with each run. Optional.">
              {(ids) => (
                <TextInput
                  {...ids}
                  maxLength={2000}
                  value={reason}
                  onChange={({ target }) => setReason(target.value)}
                />
              )}
            </Field>
          )}
          {steer.error !== null && <ErrorNote error={steer.error} />}
        </>
      )}
    </Dialog>
  )
}

const TOLD: Readonly<Record<string, string>> = {
  unchanged: 'not changed: its status did not allow it',
  not_found: 'not found: it was deleted meanwhile',
  failed: 'failed',
}

function Outcomes({
  outcomes,
  done,
  runs,
}: {
  readonly outcomes: readonly BulkOutcome[]
  readonly done: string
  readonly runs: readonly RunSummary[]
}) {
  const others = outcomes.filter(({ outcome }) => outcome in TOLD)
  const flowOf = new Map(runs.map(({ runId, flow }) => [runId, flow]))
  return (
    <>
      <p role="status">
        {formatCount(outcomes.length - others.length)} of {countOf(outcomes.length, 'run')} {done}.
      </p>
      {others.length > 0 && (
        <ul className={styles.outcomes}>
          {others.map(({ runId, outcome, error }) => (
            <li key={runId}>
              <Link to="/runs/$runId" params={{ runId }}>
                {flowOf.get(runId)} <code>{shortId(runId)}</code>
              </Link>
              : {error ?? TOLD[outcome]}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
