import type { Identification } from './api-caller.ts'

/** What the gateway says to whom it does not know: a token's fault is named as PostgREST names it. */
export interface Refusal {
  readonly status: 401
  readonly body: Readonly<Record<string, string | null>>
}

type Problem = Extract<Identification, { problem: unknown }>['problem']

const MESSAGES: Readonly<Record<Problem, { readonly code?: string; readonly message: string; readonly hint: string }>> =
  {
    'no key': {
      message: 'No API key found in request',
      hint: 'No `apikey` request header or url param was found.',
    },
    'unknown key': {
      message: 'Invalid API key',
      hint: 'Double check your project `anon` or `service_role` API key.',
    },
    malformed: {
      code: 'PGRST301',
      message: 'JWT could not be decoded',
      hint: 'The bearer token is neither a key of this project nor a token in its form.',
    },
    'wrong signature': {
      code: 'PGRST301',
      message: 'No suitable key or wrong key type',
      hint: 'The bearer token was not signed with the JWT secret of this project.',
    },
    expired: { code: 'PGRST303', message: 'JWT expired', hint: 'Get a new token, or sign in again.' },
    'not valid yet': { code: 'PGRST303', message: 'JWT not yet valid', hint: 'Its `nbf` is in the future.' },
  }

export function refusalOf(problem: Problem): Refusal {
  const { code, message, hint } = MESSAGES[problem]
  return { status: 401, body: { ...(code === undefined ? {} : { code, details: null }), hint, message } }
}
