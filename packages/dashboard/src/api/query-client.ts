import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, isSignedOut } from './api-error.ts'
import { reachability } from './reachability.ts'
import { sessionQuery } from './session.ts'

const MAX_TRIES = 3

/**
 * The cache of all that the server has told. Nothing in it is fetched by a timer of its own: live hints, or polling where there
 * are none, say what to ask again. A request that is refused since nobody is signed in any longer ends the session.
 */
export function createQueryClient(): QueryClient {
  const endIfSignedOut = (error: unknown) => {
    if (isSignedOut(error)) client.setQueryData(sessionQuery.queryKey, null)
  }
  const client: QueryClient = new QueryClient({
    mutationCache: new MutationCache({ onError: endIfSignedOut }),
    queryCache: new QueryCache({
      onError: (error) => {
        reachability.set(error instanceof ApiError)
        endIfSignedOut(error)
      },
      onSuccess: () => reachability.set(true),
    }),
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        // A refusal is an answer; what was not answered is asked again.
        retry: (failures, error) => failures < MAX_TRIES - 1 && !(error instanceof ApiError && error.status < 500),
        retryDelay: (failures) => 500 * 2 ** failures,
      },
    },
  })
  return client
}
