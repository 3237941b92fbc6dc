import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../design/Button.tsx'
import { ConfirmDialog } from '../../design/ConfirmDialog.tsx'
import { useToaster } from '../../design/Toast.tsx'
import { useIsOperator } from '../../shell/use-scope.ts'
import { type FlowSummary, setFlowPaused } from './flow-queries.ts'

/** Stops the step queues of a flow from giving out work, and lets them again; for the operator. */
export function PauseFlow({ flow }: { readonly flow: FlowSummary }) {
  const [isAsked, setAsked] = useState(false)
  const client = useQueryClient()
  const toaster = useToaster()
  const isOperator = useIsOperator()
  const { isPaused } = flow
  const change = useMutation({
    mutationFn: () => setFlowPaused(flow.flow, !isPaused),
    onSuccess: (answer) => {
      toaster.done(answer.isPaused ? 'The flow is paused.' : 'The flow goes on.')
      setAsked(false)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['flows'] }),
  })
  if (flow.compiledAt === null || !isOperator) return null
  return (
    <>
      <Button onClick={() => setAsked(true)}>{isPaused ? 'Resume' : 'Pause'}</Button>
      {isAsked && (
        <ConfirmDialog
          title={`${isPaused ? 'Resume' : 'Pause'} ${flow.flow}?`}
          action={isPaused ? 'Resume' : 'Pause'}
          isBusy={change.isPending}
          error={change.error}
          onConfirm={() => change.mutate()}
          onClose={() => setAsked(false)}
        >
          <p>
            {isPaused
              ? 'Its step queues give out work again, what waits first.'
              : 'Its step queues give out no work. What has begun is finished, and runs can be started: they wait until it is resumed.'}
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
