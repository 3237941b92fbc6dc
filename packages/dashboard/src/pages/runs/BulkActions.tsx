import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../design/Button.tsx'
import { Dialog } from '../../design/Dialog.tsx'
import { ErrorNote } from '../../design/ErrorState.tsx'
import { Field, TextInput } from '../../design/Field.tsx'
import { useToaster } from '../../design/Toast.tsx'
import { countOf, formatCount } from '../../format/count.ts'
import { useScope } from '../../shell/use-scope.ts'
import styles from './BulkActions.module.css'
import { type BulkResult, bulkResult, refusedText } from './bulk-result.ts'
import { shortId } from './RunRow.tsx'
import { type RunSummary, steerRuns } from './run-queries.ts'

type Action = 'cancel' | 'retry'

/** What a run must be for an action to do something. */
const FITTING: Readonly<Record<Action, readonly RunSummary['status'][]>> = {
  cancel: ['queued', 'running', 'paused'],
  retry: ['error', 'cancelled'],
}

/** What can be done with the runs that are selected. */
export function BulkActions({
  runs,
  onDone,
}: {
  readonly runs: readonly RunSummary[]
  /** Told which of the runs stay selected: those that were refused. */
  readonly onDone: (stillSelected: readonly string[]) => void
}) {
  const [action, setAction] = useState<Action | null>(null)
  const fitting = (of: Action) => runs.filter(({ status }) => FITTING[of].includes(status))
  const [toCancel, toRetry] = [fitting('cancel'), fitting('retry')]
  const chosen = action === 'cancel' ? toCancel : toRetry
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
        <Button kind="quiet" icon="close" onClick={() => onDone([])} aria-label="Clear the selection">
          Clear
        </Button>
      </div>
      {action !== null && (
        <BulkDialog
          action={action}
          runs={chosen}
          others={runs.length - chosen.length}
          onClose={(result) => {
            setAction(null)
            if (result !== undefined) onDone(result.refused.flatMap(({ runIds }) => runIds))
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

/** Asks, and shows how far it is. Where some runs are refused it says which and why, before it closes. */
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
  readonly onClose: (result: BulkResult | undefined) => void
}) {
  // As they were when it was asked: their statuses change under it.
  const [runs] = useState(selected)
  const [othersThen] = useState(others)
  const [reason, setReason] = useState('')
  const [done, setDone] = useState(0)
  const scope = useScope()
  const client = useQueryClient()
  const toaster = useToaster()
  const words = WORDS[action]
  const steer = useMutation({
    mutationFn: async () => {
      const runIds = runs.map(({ runId }) => runId)
      const options = { reason: reason.trim() === '' ? undefined : reason.trim(), onProgress: setDone }
      return bulkResult(await steerRuns(scope, action, runIds, options))
    },
    onSuccess: (result) => {
      if (result.done < result.total) return
      toaster.done(`${countOf(result.done, 'run')} ${words.done}.`)
      onClose(result)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['runs'] }),
  })
  const close = () => {
    if (!steer.isPending) onClose(steer.data)
  }
  if (steer.data !== undefined) return <Refusals result={steer.data} done={words.done} runs={runs} onClose={close} />
  return (
    <Dialog
      title={words.title(countOf(runs.length, 'run'))}
      onClose={close}
      actions={
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
      }
    >
      <p>{words.text}</p>
      {othersThen > 0 && (
        <p>{countOf(othersThen, 'selected run is', 'selected runs are')} left out: their status does not allow it.</p>
      )}
      {action === 'cancel' && (
        <Field label="Reason" help="Kept with each run. Optional.">
          {(ids) => (
            <TextInput {...ids} maxLength={2000} value={reason} onChange={({ target }) => setReason(target.value)} />
          )}
        </Field>
      )}
      {steer.error !== null && <ErrorNote error={steer.error} />}
    </Dialog>
  )
}

/** So many runs of one reason are named. */
const MOST_NAMED = 50

/** How many were done, and which were not, by their reasons. */
function Refusals({
  result,
  done,
  runs,
  onClose,
}: {
  readonly result: BulkResult
  readonly done: string
  readonly runs: readonly RunSummary[]
  readonly onClose: () => void
}) {
  const flowOf = new Map(runs.map(({ runId, flow }) => [runId, flow]))
  return (
    <Dialog
      title={result.done === 0 ? 'Not done' : 'Partly done'}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      <p role="status">{refusedText(result, done)}</p>
      <ul>
        {result.refused.map(({ reason, runIds }) => (
          <li key={reason} className={styles.reason}>
            <p>
              <strong>{countOf(runIds.length, 'run')}:</strong> {reason}
            </p>
            <details open={runIds.length <= 3}>
              <summary>Which</summary>
              <ul className={styles.named}>
                {runIds.slice(0, MOST_NAMED).map((runId) => (
                  <li key={runId}>
                    <Link to="/runs/$runId" params={{ runId }}>
                      {flowOf.get(runId)} <code>{shortId(runId)}</code>
                    </Link>
                  </li>
                ))}
                {runIds.length > MOST_NAMED && <li>and {formatCount(runIds.length - MOST_NAMED)} more</li>}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
