import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

/** The keys of a local project, as a Supabase project has them: HS256 JWTs that name a role. */
export interface ApiKeys {
  readonly jwtSecret: string
  readonly anonKey: string
  readonly serviceRoleKey: string
}

const TEN_YEARS_SECONDS = 10 * 365 * 24 * 3600

/** The keys kept in `file`, which is made, readable by its owner only, where it is not there. `now` in milliseconds. */
export function loadApiKeys(file: string, now: number): ApiKeys {
  const { jwtSecret, issuedAt } = readSecret(file) ?? writeSecret(file, now)
  const keyOf = (role: string) =>
    signJwt({ iss: 'supabase', ref: 'local', role, iat: issuedAt, exp: issuedAt + TEN_YEARS_SECONDS }, jwtSecret)
  return Object.freeze({ jwtSecret, anonKey: keyOf('anon'), serviceRoleKey: keyOf('service_role') })
}

/** A JSON web token, signed with HMAC-SHA256. */
function signJwt(claims: Readonly<Record<string, unknown>>, secret: string): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`
}

/** Kept with the time of issue, so that the keys are the same after each start. */
interface Secret {
  readonly jwtSecret: string
  readonly issuedAt: number
}

function readSecret(file: string): Secret | undefined {
  try {
    const { jwtSecret, issuedAt } = JSON.parse(readFileSync(file, 'utf8')) as Secret
    return typeof jwtSecret === 'string' && typeof issuedAt === 'number' ? { jwtSecret, issuedAt } : undefined
  } catch {
    return undefined
  }
}

function writeSecret(file: string, now: number): Secret {
  const secret = { jwtSecret: randomBytes(32).toString('base64url'), issuedAt: Math.floor(now / 1000) }
  writeFileSync(file, JSON.stringify(secret), { mode: 0o600 })
  return secret
}
