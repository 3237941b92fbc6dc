import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'
import { serverClock } from './server-clock.ts'

export type Queue = paths['/api/queues']['get']['responses'][200]['content']['application/json']['queues'][number]
export type QueueTrouble = Queue['troubles'][number]
export type QueueSample =
  paths['/api/queues/{queue}/samples']['get']['responses'][200]['content']['application/json']['samples'][number]

/** All queues with what waits in them, who serves them and what is wrong. */
export const queuesQuery = queryOptions({
  queryKey: ['queues'],
  queryFn: async ({ signal }) => (await answerOf(api.GET('/api/queues', { signal }))).queues,
})

/** How a queue went until now. */
export function queueHistoryQuery(queue: string, hours: number) {
  return queryOptions({
    queryKey: ['queues', 'history', queue, hours],
    queryFn: async ({ signal }) => {
      const from = new Date(serverClock.now() - hours * 3_600_000).toISOString()
      const params = { path: { queue }, query: { from } }
      return (await answerOf(api.GET('/api/queues/{queue}/samples', { signal, params }))).samples
    },
    // Another range is drawn when it is there.
    placeholderData: keepPreviousData,
  })
}
