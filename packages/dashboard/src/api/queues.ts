import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'

export type Queue = paths['/api/queues']['get']['responses'][200]['content']['application/json']['queues'][number]
export type Route = paths['/api/coverage']['get']['responses'][200]['content']['application/json']['routes'][number]

/** All queues with their depth, age and workers. */
export const queuesQuery = queryOptions({
  queryKey: ['queues'],
  queryFn: async ({ signal }) => (await answerOf(api.GET('/api/queues', { signal }))).queues,
})

/** The routes of all flows beside what serves them, in the order of the steps. */
export const coverageQuery = queryOptions({
  queryKey: ['queues', 'coverage'],
  queryFn: async ({ signal }) => (await answerOf(api.GET('/api/coverage', { signal }))).routes,
})
