import type { ReactNode } from 'react'
import type { QueryState } from '../api/joined.ts'
import { ErrorState } from './ErrorState.tsx'
import { Skeleton } from './Skeleton.tsx'

/**
 * What a query has told, or that it is under way, or why it failed. What was told once stays while it is asked again, also when
 * that fails: the navigation says that the server is not reached.
 */
export function Loaded<T>({
  query,
  placeholder = <Skeleton lines={5} height="2rem" />,
  children,
}: {
  readonly query: QueryState<T>
  readonly placeholder?: ReactNode
  readonly children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return placeholder
}
