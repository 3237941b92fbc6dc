import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { answerOf, api } from '../../api/api-client.ts'
import { scopeHeader, type WorkspaceScope } from '../../api/scope.ts'
import type { TaskStatus } from './run-queries.ts'

const PAGE_SIZE = 100

interface TaskPage {
  readonly after?: number | undefined
  readonly status?: TaskStatus | undefined
  readonly limit: number
}

function listTasks(scope: WorkspaceScope, runId: string, step: string, page: TaskPage, signal: AbortSignal) {
  const query = {
    limit: String(page.limit),
    ...(page.after !== undefined && { after: String(page.after) }),
    ...(page.status !== undefined && { status: page.status }),
  }
  const params = { path: { runId, step }, query, header: scopeHeader(scope) }
  return answerOf(api.GET('/api/runs/{runId}/steps/{step}/tasks', { params, signal }))
}

/** The one task of a step that is no map. */
export function tasksQuery(scope: WorkspaceScope, runId: string, step: string) {
  return queryOptions({
    queryKey: ['runs', 'one', scope, runId, 'task', step],
    queryFn: ({ signal }) => listTasks(scope, runId, step, { limit: 1 }, signal),
  })
}

/** One task by its index. */
export function taskQuery(scope: WorkspaceScope, runId: string, step: string, task: number) {
  return queryOptions({
    queryKey: ['runs', 'one', scope, runId, 'task', step, task],
    queryFn: async ({ signal }) => {
      const page = { limit: 1, ...(task > 0 && { after: task - 1 }) }
      const found = (await listTasks(scope, runId, step, page, signal)).tasks[0]
      return found?.task === task ? found : null
    },
  })
}

/** Tasks of a map, page by page. */
export function taskPagesQuery(scope: WorkspaceScope, runId: string, step: string, status: TaskStatus | undefined) {
  return infiniteQueryOptions({
    queryKey: ['runs', 'one', scope, runId, 'tasks', step, status ?? 'all'],
    queryFn: ({ pageParam, signal }) =>
      listTasks(scope, runId, step, { after: pageParam ?? undefined, status, limit: PAGE_SIZE }, signal),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.next,
  })
}
