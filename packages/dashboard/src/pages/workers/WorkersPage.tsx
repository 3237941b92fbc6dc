import { EmptyState } from '../../design/EmptyState.tsx'
import { Page } from '../../design/Page.tsx'

export function WorkersPage() {
  return (
    <Page title="Workers">
      <EmptyState title="This page is being built." />
    </Page>
  )
}
