import type { ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'
import { ErrorNote } from './ErrorState.tsx'

export interface ConfirmDialogProps {
  readonly title: string
  /** What will happen, and what will not. */
  readonly children: ReactNode
  /** The verb, as on the button that led here. */
  readonly action: string
  readonly isDangerous?: boolean
  readonly isBusy: boolean
  /** What the last try was refused with. */
  readonly error?: unknown
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks before something is done. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, action, isDangerous = false, isBusy, error, onConfirm, onClose } = props
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button kind={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {error != null && <ErrorNote error={error} />}
    </Dialog>
  )
}
