import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import type { paths } from './schema.d.ts'

export type WorkerFunction =
  paths['/api/functions']['get']['responses'][200]['content']['application/json']['functions'][number]

/** Who fences from here: whoever uses this name may fence again and restore. */
const FENCED_BY = 'dashboard'

export const functionsQuery = queryOptions({
  queryKey: ['functions'],
  queryFn: async ({ signal }) => (await answerOf(api.GET('/api/functions', { signal }))).functions,
})

export type FenceAction = 'fence' | 'restore'

/** Fences a worker function, or lifts its fence, and has everything asked again that shows it. */
export function useFenceAction() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async ({ action, name }: { readonly action: FenceAction; readonly name: string }) => {
      const params = { path: { function: name } }
      return action === 'fence'
        ? await answerOf(api.POST('/api/functions/{function}/fence', { params, body: { by: FENCED_BY } }))
        : await answerOf(api.POST('/api/functions/{function}/restore', { params, body: {} }))
    },
    onSettled: () =>
      Promise.all(
        ['functions', 'queues', 'workers'].map((kind) => queryClient.invalidateQueries({ queryKey: [kind] })),
      ),
  })
}
