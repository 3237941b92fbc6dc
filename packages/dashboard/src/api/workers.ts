import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'

export type Worker = paths['/api/workers']['get']['responses'][200]['content']['application/json']['workers'][number]

/** Workers of step queues, the youngest first; with `isAll` also silent and stopped ones. */
export function workersQuery(isAll: boolean) {
  return queryOptions({
    queryKey: ['workers', { isAll }],
    queryFn: async ({ signal }) =>
      (await answerOf(api.GET('/api/workers', { signal, params: { query: { all: isAll ? 'true' : 'false' } } })))
        .workers,
  })
}
