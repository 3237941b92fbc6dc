import { useSuspenseQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { EVERY_WORKSPACE, type WorkspaceScope } from '../api/scope.ts'
import { type Session, sessionQuery } from '../api/session.ts'

/** Who is signed in. For what is shown only to those who are. */
export function useSession(): Session {
  const { data } = useSuspenseQuery(sessionQuery)
  if (data === null) throw new Error('useSession is for pages that ask who is there')
  return data
}

/** Whose runs the page shows: the workspace of the token, or the one that the operator chose; it stands in the address. */
export function useScope(): WorkspaceScope {
  const { workspace: own } = useSession()
  const { workspace: chosen } = useSearch({ from: '/_signed-in' })
  return own ?? chosen ?? EVERY_WORKSPACE
}

/** Whether one may fence, restore, and see what is about no workspace. */
export function useIsOperator(): boolean {
  return useSession().kind === 'operator'
}
