import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { buttonClass } from '../../design/Button.tsx'
import { Icon } from '../../design/Icon.tsx'
import { Page } from '../../design/Page.tsx'
import { useScope } from '../../shell/use-scope.ts'
import { RunFilters } from './RunFilters.tsx'
import { RunList } from './RunList.tsx'
import { type RunFilter, runFilterSchema } from './run-filter.ts'

const route = getRouteApi('/_signed-in/runs')

/** Runs of both placements, the newest first, as far as the filter in the address lets them through. */
export function RunsPage() {
  const scope = useScope()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  // Without what the address holds beside the filter.
  const filterKey = JSON.stringify(runFilterSchema.parse(search))
  const filter = useMemo(() => JSON.parse(filterKey) as RunFilter, [filterKey])
  const change = useCallback(
    (changes: Partial<RunFilter>) =>
      void navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: true }),
    [navigate],
  )
  return (
    <Page
      title="Runs"
      actions={
        <Link to="/flows" className={buttonClass({ kind: 'primary' })}>
          <Icon name="runs" /> Start a run
        </Link>
      }
    >
      <RunFilters filter={filter} onChange={change} />
      <RunList key={`${scope} ${filterKey}`} scope={scope} filter={filter} onChange={change} />
    </Page>
  )
}
