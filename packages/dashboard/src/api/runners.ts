import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'
import { scopeHeader, type WorkspaceScope } from './scope.ts'

export type Runner = paths['/api/runners']['get']['responses'][200]['content']['application/json']['runners'][number]
export type UnservedRun =
  paths['/api/runners/unserved']['get']['responses'][200]['content']['application/json']['runs'][number]

export type Lease = paths['/api/leases']['get']['responses'][200]['content']['application/json']['leases'][number]

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

/** The runs that runners hold, the one whose lease is over first at the top. */
export function leasesQuery(scope: WorkspaceScope) {
  return queryOptions({
    queryKey: ['runners', 'leases', scope],
    queryFn: async ({ signal }) =>
      (await answerOf(api.GET('/api/leases', { signal, params: { header: scopeHeader(scope) } }))).leases,
  })
}
