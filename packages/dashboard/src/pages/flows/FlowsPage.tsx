import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function FlowsPage() {
  return (
    <Page title="Flows">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
