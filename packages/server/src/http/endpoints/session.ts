import { serialize } from 'hono/utils/cookie'
import { z } from 'zod'
import type { Authenticator } from '../../auth/authenticator.ts'
import type { Caller } from '../../auth/caller.ts'
import { SESSION_COOKIE } from '../../auth/session-cookie.ts'
import { type Endpoint, type EndpointRequest, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const session = z.object({
  kind: z.enum(['operator', 'workspace']),
  workspace: schema.name.nullable().describe('Null: the operator, who names one per request.'),
  defaultWorkspace: schema.name.describe(
    'Where a form that starts runs may begin: the own one; for the operator that of webhooks and schedules.',
  ),
  expiresAt: z.iso.datetime().nullable().describe('When the sign-in is over; null for a bearer token.'),
})

/** Signing in with a token, so that a page of the dashboard need not keep it. */
export function sessionEndpoints(authenticator: Authenticator, defaultWorkspace: string): Endpoint[] {
  const tag = 'Session'
  const signedIn = (request: Pick<EndpointRequest, 'isSecure'>, caller: Caller) => {
    const { value, session } = authenticator.sessions.seal(caller)
    const headers = { 'set-cookie': cookie(request, value, new Date(session.expiresAt)) }
    return { status: 200, body: viewOf(caller, defaultWorkspace, session.expiresAt), headers }
  }
  return [
    endpoint({
      ...{ id: 'signIn', method: 'post', path: '/api/session', tag, access: 'public' },
      summary: 'Sign in with a token',
      description:
        'Sets a cookie that scripts cannot read and that other sites cannot send. With it, requests that change something need the header `Starflow-Request: 1`.',
      body: z.strictObject({ token: z.string().min(1).max(500) }),
      answers: { 200: { description: 'Signed in.', schema: session } },
      errors: ['SF903', 'SF906'],
      handle: async (request) =>
        signedIn(request, await authenticator.authenticateToken(request.body.token, request.address)),
    }),
    endpoint({
      ...{ id: 'redeemSignInLink', method: 'post', path: '/api/session/link', tag, access: 'public' },
      summary: 'Sign in with the code of a link',
      description:
        'Whoever starts a server on their own computer finds such a link in their terminal. A code is good once, for ten minutes, at the process that gave it, and signs the operator in.',
      body: z.strictObject({ code: z.string().min(1).max(500) }),
      answers: { 200: { description: 'Signed in.', schema: session } },
      errors: ['SF903', 'SF906'],
      handle: async (request) => signedIn(request, await authenticator.redeemCode(request.body.code, request.address)),
    }),
    endpoint({
      ...{ id: 'getSession', method: 'get', path: '/api/session', tag, access: 'caller' },
      summary: 'Show who is signed in',
      answers: { 200: { description: 'Whoever sends the request.', schema: session } },
      handle: async ({ caller, session }) => ({
        status: 200,
        body: viewOf(caller!, defaultWorkspace, session?.expiresAt),
      }),
    }),
    endpoint({
      ...{ id: 'signOut', method: 'delete', path: '/api/session', tag, access: 'caller' },
      summary: 'Sign out',
      description: 'Ends the sign-in of the cookie that the request carries, in every copy of it and at every edge.',
      answers: { 200: { description: 'The sign-in is over, and the cookie gone.', schema: z.object({}) } },
      handle: async (request) => {
        if (request.session !== undefined) await authenticator.signOut(request.session)
        return { status: 200, body: {}, headers: { 'set-cookie': cookie(request, '', new Date(0)) } }
      },
    }),
  ]
}

function viewOf(caller: Caller, defaultWorkspace: string, expiresAt: number | undefined): z.input<typeof session> {
  const workspace = caller.kind === 'workspace' ? caller.workspaceId : null
  return {
    kind: caller.kind,
    workspace,
    defaultWorkspace: workspace ?? defaultWorkspace,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  }
}

/** `Secure` wherever the browser came over TLS, which the proxy in front says. */
function cookie({ isSecure }: Pick<EndpointRequest, 'isSecure'>, value: string, expires: Date): string {
  return serialize(SESSION_COOKIE, value, { httpOnly: true, sameSite: 'Strict', path: '/', secure: isSecure, expires })
}
