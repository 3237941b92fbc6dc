import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function RunnersPage() {
  return (
    <Page title="Runners">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
