import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function WaitsPage() {
  return (
    <Page title="Waits">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
