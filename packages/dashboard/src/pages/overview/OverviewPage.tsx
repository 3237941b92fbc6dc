import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function OverviewPage() {
  return (
    <Page title="Overview">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
