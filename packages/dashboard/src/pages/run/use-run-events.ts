import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { answerOf, api } from '../../api/api-client.ts'
import { scopeHeader, type WorkspaceScope } from '../../api/scope.ts'
import type { RunEvent } from './event-groups.ts'
import { followEvents } from './follow-events.ts'
import { hasEnded, type RunDetail } from './run-queries.ts'

const PAGE_SIZE = 500
/** Behind one of these nothing comes, unless the run is retried. */
const END_EVENTS: readonly string[] = ['run_completed', 'run_failed', 'run_cancelled']
/** Events that come together change what is shown once. */
const GATHER_MS = 250

interface EventPage {
  readonly events: readonly RunEvent[]
}

export interface RunEvents {
  readonly events: readonly RunEvent[]
  readonly isLoading: boolean
  readonly error: unknown
  /** There are more of them than are loaded. */
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  loadMore(): void
  retry(): void
}

/**
 * What happened to a run. Its first events are read page by page; once there is no page behind, what comes is told by a stream,
 * and the run is asked again with it.
 */
export function useRunEvents(scope: WorkspaceScope, run: RunDetail): RunEvents {
  const client = useQueryClient()
  const { runId } = run
  const key = useMemo(() => ['run-events', scope, runId] as const, [scope, runId])
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }): Promise<readonly RunEvent[]> => {
      const params = {
        path: { runId },
        query: { limit: String(PAGE_SIZE), ...(pageParam !== '' && { after: pageParam }) },
        header: scopeHeader(scope),
      }
      // The cast: the other answer is a stream, which this request does not ask for.
      const answer = (await answerOf(api.GET('/api/runs/{runId}/events', { params, signal }))) as EventPage
      return answer.events
    },
    initialPageParam: '',
    getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)!.id),
    staleTime: 'static',
  })
  const { data, hasNextPage, fetchNextPage, refetch } = query
  const events = useMemo(() => uniqueEvents(data?.pages ?? []), [data])

  const isOpen = !hasEnded(run)
  // A retry rewrites what the tables of step queues tell: all of it is read anew.
  const hadEnded = useRef(!isOpen)
  useEffect(() => {
    if (isOpen && hadEnded.current) void client.resetQueries({ queryKey: key })
    hadEnded.current = !isOpen
  }, [client, key, isOpen])
  const isWhole = data !== undefined && !hasNextPage
  // By what is told and not by what the run is: that is asked on its own, and is often ahead of the last events.
  const isToldToItsEnd = END_EVENTS.includes(events.at(-1)?.type ?? '')
  const last = useRef<string>(undefined)
  last.current = events.at(-1)?.id
  useEffect(() => {
    if (isToldToItsEnd || !isWhole) return
    const ended = new AbortController()
    let gathered: RunEvent[] = []
    let gathering: ReturnType<typeof setTimeout> | undefined
    const lay = () => {
      gathering = undefined
      const added = gathered
      gathered = []
      client.setQueryData<typeof data>(
        key,
        (old) => old && { ...old, pages: [...old.pages.slice(0, -1), [...(old.pages.at(-1) ?? []), ...added]] },
      )
      void client.invalidateQueries({ queryKey: ['runs', 'one', scope, runId] })
    }
    void followEvents({
      ...{ runId, scope, after: last.current, signal: ended.signal },
      onEvent: (event) => {
        gathered.push(event)
        gathering ??= setTimeout(lay, GATHER_MS)
      },
    })
    return () => {
      ended.abort()
      clearTimeout(gathering)
      if (gathered.length > 0) lay()
    }
  }, [client, key, scope, runId, isToldToItsEnd, isWhole])

  return {
    events,
    isLoading: query.isPending,
    error: query.error,
    hasMore: hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void fetchNextPage(),
    retry: () => void refetch(),
  }
}

/** A stream that begins again may tell what it told. */
function uniqueEvents(pages: readonly (readonly RunEvent[])[]): readonly RunEvent[] {
  return [...new Map(pages.flat().map((event) => [event.id, event])).values()]
}
