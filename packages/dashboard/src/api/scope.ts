/** Whose runs are shown: a workspace, or `*` for every one. A token of a workspace stands for its own. */
export type WorkspaceScope = string

export const EVERY_WORKSPACE: WorkspaceScope = '*'

/** The header of a request that is about a scope. */
export function scopeHeader(scope: WorkspaceScope): { readonly 'starflow-workspace': string } {
  return { 'starflow-workspace': scope }
}
