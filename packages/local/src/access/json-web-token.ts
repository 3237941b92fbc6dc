import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a token says about its bearer. */
export type TokenClaims = Readonly<Record<string, unknown>>

/** Why a token is worth nothing. */
export type TokenProblem = 'malformed' | 'wrong signature' | 'expired' | 'not valid yet'

/** A JSON web token, signed with HMAC-SHA256. */
export function signToken(claims: TokenClaims, secret: string): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${content}.${signatureOf(content, secret).toString('base64url')}`
}

/**
 * The claims of a token that `secret` has signed and that holds at `now` (milliseconds), or why it does not. Only HS256 is
 * taken, whatever the header asks for, and signatures are compared in constant time.
 */
export function verifyToken(
  token: string,
  secret: string,
  now: number,
): { readonly claims: TokenClaims } | { readonly problem: TokenProblem } {
  const [header, payload, signature, ...more] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0) {
    return { problem: 'malformed' }
  }
  if (decode(header)?.alg !== 'HS256') return { problem: 'malformed' }
  const given = Buffer.from(signature, 'base64url')
  const wanted = signatureOf(`${header}.${payload}`, secret)
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return { problem: 'wrong signature' }
  const claims = decode(payload)
  if (claims === undefined || !isTime(claims.exp) || !isTime(claims.nbf)) return { problem: 'malformed' }
  if (claims.exp !== undefined && claims.exp * 1000 <= now) return { problem: 'expired' }
  if (claims.nbf !== undefined && claims.nbf * 1000 > now) return { problem: 'not valid yet' }
  return { claims }
}

function signatureOf(content: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(content).digest()
}

function decode(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function isTime(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value))
}
