import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function RunPage() {
  return (
    <Page title="Run">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
