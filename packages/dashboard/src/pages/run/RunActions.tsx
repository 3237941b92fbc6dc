import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, buttonClass } from '../../design/Button.tsx'
import { ConfirmDialog } from '../../design/ConfirmDialog.tsx'
import { Field, TextInput } from '../../design/Field.tsx'
import { useToaster } from '../../design/Toast.tsx'
import { useScope } from '../../shell/use-scope.ts'
import { cancelRun, hasEnded, type RunDetail, retryRun } from './run-queries.ts'

/** What can be done with a run as a whole. */
export function RunActions({ run }: { readonly run: RunDetail }) {
  const [asked, setAsked] = useState<'cancel' | 'retry' | null>(null)
  const close = () => setAsked(null)
  return (
    <>
      <Link to="/flows/$flow" params={{ flow: run.flow }} search={{ from: run.runId }} className={buttonClass()}>
        Start another
      </Link>
      {(run.status === 'error' || run.status === 'cancelled') && (
        <Button kind="primary" icon="refresh" onClick={() => setAsked('retry')}>
          {run.status === 'error' ? 'Retry failed steps' : 'Start again'}
        </Button>
      )}
      {!hasEnded(run) && (
        <Button kind="danger" onClick={() => setAsked('cancel')}>
          Cancel
        </Button>
      )}
      {asked === 'cancel' && <CancelDialog run={run} onClose={close} />}
      {asked === 'retry' && <RetryDialog run={run} onClose={close} />}
    </>
  )
}

interface DialogProps {
  readonly run: RunDetail
  readonly onClose: () => void
}

function CancelDialog({ run, onClose }: DialogProps) {
  const [reason, setReason] = useState('')
  const scope = useScope()
  const client = useQueryClient()
  const toaster = useToaster()
  const cancel = useMutation({
    mutationFn: () => cancelRun(scope, run.runId, reason.trim()),
    onSuccess: (cancelled) => {
      toaster.done(cancelled ? 'The run is cancelled.' : 'The run had ended before.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['runs'] }),
  })
  return (
    <ConfirmDialog
      title="Cancel this run?"
      action="Cancel the run"
      isDangerous
      isBusy={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate()}
      onClose={onClose}
    >
      <p>
        Steps that have completed stay. Work that is under way may go on where it runs, and what it reports changes
        nothing.
      </p>
      <Field label="Reason" help="Kept with the run. Optional.">
        {(ids) => (
          <TextInput {...ids} maxLength={2000} value={reason} onChange={({ target }) => setReason(target.value)} />
        )}
      </Field>
    </ConfirmDialog>
  )
}

function RetryDialog({ run, onClose }: DialogProps) {
  const scope = useScope()
  const client = useQueryClient()
  const toaster = useToaster()
  const retry = useMutation({
    mutationFn: () => retryRun(scope, run.runId),
    onSuccess: (retried) => {
      toaster.done(retried ? 'The run goes on.' : 'The run goes on already, or was a success.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['runs'] }),
  })
  const kept = run.steps.filter(({ status }) => status === 'completed').length
  return (
    <ConfirmDialog
      title="Go on with this run?"
      action={run.status === 'error' ? 'Retry failed steps' : 'Start again'}
      isBusy={retry.isPending}
      error={retry.error}
      onConfirm={() => retry.mutate()}
      onClose={onClose}
    >
      <p>
        {kept === 0
          ? 'No step has completed: all are done anew.'
          : `What has completed stays (${kept} of ${run.steps.length} steps); the rest is done anew.`}{' '}
        Failed steps get all their attempts again.
      </p>
    </ConfirmDialog>
  )
}
