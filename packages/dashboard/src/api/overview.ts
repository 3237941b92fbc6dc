import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'
import { scopeHeader, type WorkspaceScope } from './scope.ts'

export type Overview = paths['/api/overview']['get']['responses'][200]['content']['application/json']
export type QueueInTrouble = NonNullable<Overview['queues']>['inTrouble'][number]
export type LivenessProblem = Overview['liveness']['problems'][number]

/** How all is, at one glance. Runs and waits are those of the scope. */
export function overviewQuery(scope: WorkspaceScope) {
  return queryOptions({
    queryKey: ['overview', scope],
    queryFn: async ({ signal }) =>
      await answerOf(api.GET('/api/overview', { signal, params: { header: scopeHeader(scope) } })),
  })
}
