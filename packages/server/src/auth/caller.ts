import { StarflowError } from '@starflow/errors'
import { NAME_PATTERN, type Scope } from '../workspace.ts'

/** Who asks, as far as the request has proved it. */
export type Caller =
  | { readonly kind: 'operator' }
  | { readonly kind: 'workspace'; readonly workspaceId: string; readonly tokenId: string }

/** The header with which an operator says which workspace a request is about; a token of a workspace need not. */
export const WORKSPACE_HEADER = 'starflow-workspace'

/**
 * Whose runs a request is about. A token of a workspace stands for that one; the operator names one, or `*` for every one.
 *
 * @throws StarflowError SF902 for an impossible name, SF904 for another workspace than the token's, SF905 for none
 */
export function scopeOf(caller: Caller, header: string | undefined): Scope {
  if (header !== undefined && header !== '*' && !NAME_PATTERN.test(header)) {
    throw new StarflowError({
      code: 'SF902',
      message: `The header ${WORKSPACE_HEADER} of the request is not valid.`,
      detail: 'A workspace is named by letters, digits, dots, hyphens and underscores, 64 at most.',
      hint: 'Correct the name of the workspace.',
    })
  }
  if (caller.kind === 'workspace') {
    if (header === undefined || header === caller.workspaceId) return { workspaceId: caller.workspaceId }
    throw new StarflowError({
      code: 'SF904',
      message: 'This token may not do that.',
      detail: `It is a token of workspace "${caller.workspaceId}", and the request names another one.`,
      hint: `Leave the header ${WORKSPACE_HEADER} out, or use a token of that workspace.`,
    })
  }
  if (header === undefined) {
    throw new StarflowError({
      code: 'SF905',
      message: 'The request does not say which workspace it is about.',
      detail: "The operator's token belongs to no workspace.",
      hint: `Send the header ${WORKSPACE_HEADER}: <name>, or * for every workspace.`,
    })
  }
  return header === '*' ? 'every' : { workspaceId: header }
}
