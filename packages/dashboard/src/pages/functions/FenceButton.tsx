import { useState } from 'react'
import { useFenceAction, type WorkerFunction } from '../../api/functions.ts'
import { Button } from '../../design/Button.tsx'
import { ConfirmDialog } from '../../design/ConfirmDialog.tsx'
import { useToaster } from '../../design/Toast.tsx'
import { useIsOperator } from '../../shell/use-scope.ts'

/** Fences a worker function or lifts its fence, after asking. Only the operator may. */
export function FenceButton({ of: { function: name, fencedBy } }: { readonly of: WorkerFunction }) {
  const isOperator = useIsOperator()
  const toaster = useToaster()
  const [isAsking, setAsking] = useState(false)
  const mutation = useFenceAction()
  const action = fencedBy === null ? 'fence' : 'restore'
  if (!isOperator) return null
  const close = () => {
    setAsking(false)
    mutation.reset()
  }
  const confirm = () =>
    mutation.mutate(
      { action, name },
      {
        onSuccess: ({ isEnabled }) => {
          close()
          toaster.done(
            action === 'fence'
              ? `${name} is fenced.`
              : `${name} is ${isEnabled ? 'enabled' : 'disabled'}, as it was before the fence.`,
          )
        },
      },
    )
  return (
    <>
      <Button size="small" onClick={() => setAsking(true)} aria-label={`${WORDS[action].verb} ${name}`}>
        {WORDS[action].verb}
      </Button>
      {isAsking && (
        <ConfirmDialog
          title={`${WORDS[action].verb} ${name}?`}
          action={WORDS[action].verb}
          isDangerous={action === 'fence'}
          isBusy={mutation.isPending}
          error={mutation.error}
          onConfirm={confirm}
          onClose={close}
        >
          <p>{WORDS[action].effect}</p>
          {action === 'restore' && fencedBy !== null && <p>The fence is by {fencedBy}.</p>}
        </ConfirmDialog>
      )}
    </>
  )
}

const WORDS = {
  fence: {
    verb: 'Fence',
    effect:
      'It is not started any more, and its workers claim nothing. What they have claimed they finish; everything else waits in its queue until the fence is lifted.',
  },
  restore: {
    verb: 'Restore',
    effect: 'It is enabled or disabled again, as the fence found it. An enabled function is started within seconds.',
  },
} as const
