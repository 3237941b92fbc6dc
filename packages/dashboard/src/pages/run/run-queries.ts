import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from '../../api/api-client.ts'
import type { operations } from '../../api/schema.d.ts'
import { scopeHeader, type WorkspaceScope } from '../../api/scope.ts'

type JsonAnswer<TOperation extends keyof operations> = operations[TOperation] extends {
  responses: { 200: { content: { 'application/json': infer TBody } } }
}
  ? TBody
  : never

export type RunDetail = JsonAnswer<'getRun'>
export type StepView = RunDetail['steps'][number]

export type TaskView = JsonAnswer<'listTasks'>['tasks'][number]
export type TaskStatus = TaskView['status']
export type AttemptView = TaskView['attempts'][number]
export type AttemptOutcome = AttemptView['outcome']

const ENDED: readonly RunDetail['status'][] = ['success', 'error', 'cancelled']

export function hasEnded(run: Pick<RunDetail, 'status'>): boolean {
  return ENDED.includes(run.status)
}

export function runQuery(scope: WorkspaceScope, runId: string) {
  return queryOptions({
    queryKey: ['runs', 'one', scope, runId],
    queryFn: ({ signal }) =>
      answerOf(api.GET('/api/runs/{runId}', { params: { path: { runId }, header: scopeHeader(scope) }, signal })),
  })
}

/** What steps of a run on a runner last said of themselves. */
export function progressQuery(scope: WorkspaceScope, runId: string) {
  return queryOptions({
    queryKey: ['runs', 'live', scope, runId],
    queryFn: async ({ signal }) => {
      const params = { path: { runId }, header: scopeHeader(scope) }
      return await answerOf(api.GET('/api/runs/{runId}/live', { params, signal }))
    },
    // Never where the server does not mirror.
    refetchInterval: ({ state }) => (state.data?.asOf === null ? false : PROGRESS_INTERVAL_MS),
  })
}

const PROGRESS_INTERVAL_MS = 1000

export async function cancelRun(scope: WorkspaceScope, runId: string, reason: string): Promise<boolean> {
  const params = { path: { runId }, header: scopeHeader(scope) }
  const body = reason === '' ? {} : { reason }
  return (await answerOf(api.POST('/api/runs/{runId}/cancel', { params, body }))).cancelled
}

export async function retryRun(scope: WorkspaceScope, runId: string): Promise<boolean> {
  const params = { path: { runId }, header: scopeHeader(scope) }
  return (await answerOf(api.POST('/api/runs/{runId}/retry', { params, body: {} }))).retried
}
