import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from './api-client.ts'
import { isSignedOut } from './api-error.ts'
import type { paths } from './schema.d.ts'

export type Session = paths['/api/session']['get']['responses'][200]['content']['application/json']

/** Who is signed in; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    try {
      return await answerOf(api.GET('/api/session'))
    } catch (error) {
      if (isSignedOut(error)) return null
      throw error
    }
  },
  staleTime: Number.POSITIVE_INFINITY,
})

export async function signIn(token: string): Promise<Session> {
  return await answerOf(api.POST('/api/session', { body: { token } }))
}

export async function signOut(): Promise<void> {
  await answerOf(api.DELETE('/api/session'))
}
