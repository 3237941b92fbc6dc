import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiKeys } from './api-keys.ts'
import { type TokenClaims, type TokenProblem, verifyToken } from './json-web-token.ts'

/** Who asks: the role of the database that answers, and what its policies read as the claims. */
export interface ApiCaller {
  readonly role: string
  readonly claims: TokenClaims
  /** When the token ends, in milliseconds; undefined for one that does not end, and for keys that are no tokens. */
  readonly expiresAt: number | undefined
}

export type Identification =
  | { readonly caller: ApiCaller }
  | { readonly problem: TokenProblem | 'no key' | 'unknown key' }

/** The role of a token that names none. */
export const ANONYMOUS_ROLE = 'anon'

/**
 * Who asks by HTTP: the `apikey` opens the door, and the bearer token, where there is one, says who comes in. `urlKey` is
 * the key of the query string, for those that cannot send headers.
 */
export function identifyRequest(
  headers: IncomingHttpHeaders,
  urlKey: string | null,
  keys: ApiKeys,
  now: number,
): Identification {
  const key = headerText(headers.apikey) ?? urlKey ?? undefined
  if (key === undefined || key === '') return { problem: 'no key' }
  const byKey = identify(key, keys, now)
  if ('problem' in byKey) return { problem: 'unknown key' }
  const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  return bearer === undefined || bearer === key ? byKey : identify(bearer, keys, now)
}

/** Whose key or token this is. */
export function identify(keyOrToken: string, keys: ApiKeys, now: number): Identification {
  if (isSame(keyOrToken, keys.publishableKey)) return { caller: keyHolder(ANONYMOUS_ROLE) }
  if (isSame(keyOrToken, keys.secretKey)) return { caller: keyHolder('service_role') }
  const verified = verifyToken(keyOrToken, keys.jwtSecret, now)
  if ('problem' in verified) return verified
  const { claims } = verified
  return {
    caller: {
      role: typeof claims.role === 'string' ? claims.role : ANONYMOUS_ROLE,
      claims,
      expiresAt: typeof claims.exp === 'number' ? claims.exp * 1000 : undefined,
    },
  }
}

function keyHolder(role: string): ApiCaller {
  return { role, claims: { role }, expiresAt: undefined }
}

/** In constant time, whatever the lengths. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
