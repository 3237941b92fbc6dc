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

/** With the code of a link, which is good once. */
export async function redeemSignInLink(code: string): Promise<Session> {
  return await answerOf(api.POST('/api/session/link', { body: { code } }))
}

export async function signOut(): Promise<void> {
  await answerOf(api.DELETE('/api/session'))
}
