import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { EmptyState } from '../design/EmptyState.tsx'
import { ErrorState } from '../design/ErrorState.tsx'
import { Page } from '../design/Page.tsx'

/** Instead of a page that could not be shown. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const { reset: resetQueries } = useQueryErrorResetBoundary()
  return (
    <Page title="Not shown">
      <ErrorState
        error={error}
        onRetry={() => {
          resetQueries()
          reset()
          void router.invalidate()
        }}
      />
    </Page>
  )
}

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <EmptyState title="There is no page at this address." action={<Link to="/">To the overview</Link>} />
    </Page>
  )
}
