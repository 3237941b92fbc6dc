import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function QueuesPage() {
  return (
    <Page title="Queues">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
