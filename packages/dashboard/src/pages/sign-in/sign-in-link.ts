import type { QueryClient } from '@tanstack/react-query'
import { redeemSignInLink, sessionQuery } from '../../api/session.ts'

/** The code of a sign-in link, which stands behind the # of its address. */
export function signInCode(hash: string): string | undefined {
  return /^#?code=([\w-]+)$/.exec(hash)?.[1]
}

/** Signs in with a code, and gives what that was refused with. */
export async function redeemLink(queryClient: QueryClient, code: string): Promise<unknown> {
  try {
    queryClient.setQueryData(sessionQuery.queryKey, await redeemSignInLink(code))
    return undefined
  } catch (error) {
    return error
  }
}
