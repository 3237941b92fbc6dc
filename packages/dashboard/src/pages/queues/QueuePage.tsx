import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function QueuePage() {
  return (
    <Page title="Queue">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
