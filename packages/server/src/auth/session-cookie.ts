import { createHmac, hkdfSync, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { SESSION_TTL_MS } from '../numbers.ts'
import { areEqualSecrets } from './api-token.ts'
import type { Caller } from './caller.ts'

export const SESSION_COOKIE = 'starflow_session'

const claims = z.object({
  id: z.string(),
  caller: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('operator') }),
    z.object({ kind: z.literal('workspace'), workspaceId: z.string(), tokenId: z.string() }),
  ]),
  expiresAt: z.number(),
})

/** A sign-in. Its id is what signing out ends, wherever else the cookie is. */
export type Session = z.infer<typeof claims>

/**
 * What the cookie of a sign-in says, signed, so that every edge knows it; the key comes from the operator's token, so that
 * changing it ends all sign-ins. The token that was signed in with is not in it, only its id. Whether that was revoked, or the
 * sign-in signed out of, is asked again with each request.
 */
export class SessionCookie {
  readonly #key: Buffer
  readonly #now: () => number

  constructor(apiToken: string, now: () => number) {
    this.#key = Buffer.from(hkdfSync('sha256', apiToken, '', 'starflow session cookie', 32))
    this.#now = now
  }

  seal(caller: Caller): { value: string; session: Session } {
    const session = { id: randomUUID(), caller, expiresAt: this.#now() + SESSION_TTL_MS }
    const body = Buffer.from(JSON.stringify(session)).toString('base64url')
    return { value: `${body}.${this.#sign(body)}`, session }
  }

  /** Undefined for anything that this server has not sealed, or that is over. */
  open(value: string): Session | undefined {
    const [body = '', signature = '', ...rest] = value.split('.')
    if (rest.length > 0 || !areEqualSecrets(signature, this.#sign(body))) return undefined
    const { data: session } = claims.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')))
    return session !== undefined && session.expiresAt > this.#now() ? session : undefined
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
  }
}
