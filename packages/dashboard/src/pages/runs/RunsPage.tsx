import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function RunsPage() {
  return (
    <Page title="Runs">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
