import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo } from 'react'
import type { WorkspaceScope } from '../../api/scope.ts'
import { serverClock } from '../../api/server-clock.ts'
import { filterStart, type RunFilter } from './run-filter.ts'
import { cursorAt, newerThan, runsOf, withNewer, withStates } from './run-pages.ts'
import { listRuns, type RunSummary } from './run-queries.ts'

export interface RunList {
  readonly runs: readonly RunSummary[]
  readonly isLoading: boolean
  readonly error: unknown
  readonly isLast: boolean
  readonly isLoadingMore: boolean
  loadMore(): void
  retry(): void
  /** How many runs have come since, and whether there are more than that. */
  readonly newer: { readonly count: number; readonly isWhole: boolean }
  showNewer(): void
}

/**
 * Runs that fit a filter, page by page. What is loaded stays where it is: the newest page and the one that is looked at are asked
 * again when something has changed, and give their runs the state that they have come to.
 */
export function useRunList(scope: WorkspaceScope, filter: RunFilter, lookedAt: number): RunList {
  const client = useQueryClient()
  const filterKey = JSON.stringify(filter)
  const asked = useMemo(() => ({ scope, filter, from: filterStart(filter, serverClock.now()) }), [scope, filterKey])
  const key = useMemo(() => ['run-list', scope, filterKey] as const, [scope, filterKey])

  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => listRuns(asked, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 'static',
  })
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = list
  const newest = useQuery({
    queryKey: ['runs', 'newest', scope, filterKey],
    queryFn: ({ signal }) => listRuns(asked, null, signal),
    enabled: data !== undefined,
  })
  const cursor = data === undefined ? null : cursorAt(data, lookedAt)
  const visible = useQuery({
    queryKey: ['runs', 'visible', scope, filterKey, cursor],
    queryFn: ({ signal }) => listRuns(asked, cursor, signal),
    enabled: cursor !== null,
  })

  useEffect(() => {
    const current = [...(newest.data?.runs ?? []), ...(visible.data?.runs ?? [])]
    if (current.length === 0) return
    client.setQueryData<typeof data>(key, (old) => old && { ...old, ...(withStates(old, current) as typeof old) })
  }, [client, key, newest.data, visible.data])

  const newer = useMemo(
    () =>
      data === undefined || newest.data === undefined ? { runs: [], isWhole: true } : newerThan(data, newest.data),
    [data, newest.data],
  )
  const isEmpty = data?.pages.every(({ runs }) => runs.length === 0) ?? false
  const showNewer = useCallback(() => {
    if (newer.isWhole) {
      client.setQueryData<typeof data>(key, (old) => old && { ...old, ...(withNewer(old, newer.runs) as typeof old) })
    } else {
      // More came than a page tells: the list begins anew.
      void client.resetQueries({ queryKey: key })
    }
  }, [client, key, newer])
  // Where nothing is read, nothing can be moved.
  useEffect(() => {
    if (isEmpty && newer.runs.length > 0) showNewer()
  }, [isEmpty, newer, showNewer])

  return {
    runs: useMemo(() => runsOf(data?.pages ?? []), [data]),
    isLoading: list.isPending,
    error: list.error,
    isLast: !hasNextPage,
    isLoadingMore: isFetchingNextPage,
    loadMore: useCallback(() => void fetchNextPage(), [fetchNextPage]),
    retry: useCallback(() => void refetch(), [refetch]),
    newer: { count: newer.runs.length, isWhole: newer.isWhole },
    showNewer,
  }
}
