import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { signToken } from './json-web-token.ts'

/**
 * The keys of a local project, as a Supabase project has them: in the old form HS256 tokens that name a role, in the new
 * form opaque texts. Both forms mean the same two roles.
 */
export interface ApiKeys {
  readonly jwtSecret: string
  readonly anonKey: string
  readonly serviceRoleKey: string
  readonly publishableKey: string
  readonly secretKey: string
}

const TEN_YEARS_SECONDS = 10 * 365 * 24 * 3600

/** The keys kept in `file`, which is made, readable by its owner only, where it is not there. `now` in milliseconds. */
export function loadApiKeys(file: string, now: number): ApiKeys {
  return deriveApiKeys(readSecret(file) ?? writeSecret(file, now))
}

/** All keys follow from the secret, so they are as lasting as what is kept of it. */
export function deriveApiKeys({ jwtSecret, issuedAt }: KeptSecret): ApiKeys {
  const tokenOf = (role: string) =>
    signToken({ iss: 'supabase', ref: 'local', role, iat: issuedAt, exp: issuedAt + TEN_YEARS_SECONDS }, jwtSecret)
  const opaqueKey = (prefix: string) => prefix + createHmac('sha256', jwtSecret).update(prefix).digest('base64url')
  return Object.freeze({
    jwtSecret,
    anonKey: tokenOf('anon'),
    serviceRoleKey: tokenOf('service_role'),
    publishableKey: opaqueKey('sb_publishable_'),
    secretKey: opaqueKey('sb_secret_'),
  })
}

/** The secret and, in seconds, when it was made: so the keys are the same after each start. */
export interface KeptSecret {
  readonly jwtSecret: string
  readonly issuedAt: number
}

function readSecret(file: string): KeptSecret | undefined {
  try {
    const { jwtSecret, issuedAt } = JSON.parse(readFileSync(file, 'utf8')) as KeptSecret
    return typeof jwtSecret === 'string' && typeof issuedAt === 'number' ? { jwtSecret, issuedAt } : undefined
  } catch {
    return undefined
  }
}

function writeSecret(file: string, now: number): KeptSecret {
  const secret = { jwtSecret: randomBytes(32).toString('base64url'), issuedAt: Math.floor(now / 1000) }
  writeFileSync(file, JSON.stringify(secret), { mode: 0o600 })
  return secret
}
