/** A name that workspaces, environments and runner pools may have: it stands in URLs, headers and logs as it is. */
export const NAME_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/

/**
 * Whose runs a caller may see and change: those of one workspace, or, for an operator who asks for it, of every workspace and
 * of none (runs that were started in SQL belong to none).
 */
export type Scope = { readonly workspaceId: string } | 'every'

/** The workspace to filter by; undefined where every one is meant. */
export function workspaceOf(scope: Scope): string | undefined {
  return scope === 'every' ? undefined : scope.workspaceId
}
