import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'
import { scopeHeader, type WorkspaceScope } from './scope.ts'

export type Runner = paths['/api/runners']['get']['responses'][200]['content']['application/json']['runners'][number]
export type UnservedRun =
  paths['/api/runners/unserved']['get']['responses'][200]['content']['application/json']['runs'][number]

/** Runners that were heard of within the last day. */
export const runnersQuery = queryOptions({
  queryKey: ['runners'],
  queryFn: async ({ signal }) => (await answerOf(api.GET('/api/runners', { signal }))).runners,
})

/** Queued runs that no live runner serves, with the reason. */
export function unservedRunsQuery(scope: WorkspaceScope) {
  return queryOptions({
    queryKey: ['runners', 'unserved', scope],
    queryFn: async ({ signal }) =>
      (await answerOf(api.GET('/api/runners/unserved', { signal, params: { header: scopeHeader(scope) } }))).runs,
  })
}
