import { errorText } from '../api/api-error.ts'
import { Button } from './Button.tsx'
import styles from './ErrorState.module.css'
import { Notice } from './Notice.tsx'

/** Instead of what could not be loaded: what failed, why, and the way out. */
export function ErrorState({
  error,
  onRetry,
}: {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}) {
  return (
    <div className={styles.state}>
      <ErrorNote error={error} />
      {onRetry !== undefined && (
        <Button icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** A refusal within a form or a dialog. */
export function ErrorNote({ error }: { readonly error: unknown }) {
  const { title, detail, hint, reference } = errorText(error)
  return (
    <Notice title={title} tone="bad" isAlert>
      {detail !== undefined && <p>{detail}</p>}
      {hint !== undefined && <p>{hint}</p>}
      {reference !== undefined && <p className={styles.reference}>{reference}</p>}
    </Notice>
  )
}
