import { Buffer } from 'node:buffer'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { StarflowError } from '@starflow/errors'

/** What a wait token says. Whoever holds one may resume that wait; nothing in it is secret. */
export interface WaitTokenClaims {
  /** Where the run executes: on step queues or on a runner. */
  readonly placement: 'queue' | 'runner'
  readonly runId: string
  readonly stepSlug: string
  /** When it expires, in seconds since 1970. */
  readonly expiresAt: number
}

/** A key by its name. The name is in every token, so that keys can be rotated. */
export interface WaitTokenKey {
  readonly kid: string
  /** At least 32 characters; white space around it, which a paste easily brings, is no part of it. */
  readonly secret: string
}

/** As many characters as the hash has bytes: a shorter secret is weaker than the signature. */
export const MIN_WAIT_TOKEN_SECRET_LENGTH = 32

/**
 * A token: `sfw1.<kid>.<body>.<signature>`. The body is JSON in base64url, in one order of keys and without spaces; the
 * signature is the HMAC-SHA256 of everything before it. SQL signs and reads the same tokens (`pgflow._sign_wait_token`); both
 * run `vectors/wait-tokens.json`.
 *
 * @throws StarflowError SF206 for a key that cannot sign, SF001 for a claim that does not fit into a token
 *
 * @example
 * signWaitToken({ placement: 'runner', runId, stepSlug: 'approve', expiresAt: Date.now() / 1000 + 3600 }, key)
 */
export function signWaitToken(claims: WaitTokenClaims, key: WaitTokenKey): string {
  const { placement, runId, stepSlug } = claims
  const expiresAt = Math.floor(claims.expiresAt)
  requireName('runId', runId)
  requireName('stepSlug', stepSlug)
  if (!Number.isSafeInteger(expiresAt)) throw unfit('expiresAt', claims.expiresAt)
  // Written out, so that both languages write it alike.
  const body = `{"placement":"${placement}","run":"${runId}","step":"${stepSlug}","exp":${expiresAt}}`
  const signed = `${VERSION}.${key.kid}.${Buffer.from(body).toString('base64url')}`
  return `${signed}.${signatureOf(signed, checkedSecret(key))}`
}

/**
 * What a genuine token says. `keys` are all that are still good, the one that signs among them.
 *
 * @throws StarflowError SF207 for whatever is no token of ours, in one text, so that a forger learns nothing; SF208 for one that
 *   has expired; SF206 for a key that is none
 */
export function verifyWaitToken(token: string, keys: readonly WaitTokenKey[], nowMs: number): WaitTokenClaims {
  const secrets = new Map(keys.map((key) => [key.kid, checkedSecret(key)]))
  const [, signed, kid, body, signature] = TOKEN.exec(String(token).slice(0, MAX_TOKEN_LENGTH)) ?? []
  const secret = secrets.get(kid ?? '')
  const isGenuine = secret !== undefined && isSameText(signature as string, signatureOf(signed as string, secret))
  if (!isGenuine) {
    throw new StarflowError({
      code: 'SF207',
      message: 'This token is not valid.',
      detail: 'It is not one of ours, it was changed, or its key has been retired.',
      hint: 'Ask whoever sent it for a new one.',
    })
  }
  // Signed by us, so it is what signWaitToken wrote.
  const { placement, run, step, exp } = JSON.parse(Buffer.from(body as string, 'base64url').toString()) as TokenBody
  if (exp * 1000 <= nowMs) {
    throw new StarflowError({
      code: 'SF208',
      message: 'This token has expired.',
      detail: `It was good until ${new Date(exp * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC.`,
      hint: 'Ask whoever sent it for a new one.',
    })
  }
  return { placement, runId: run, stepSlug: step, expiresAt: exp }
}

interface TokenBody {
  readonly placement: WaitTokenClaims['placement']
  readonly run: string
  readonly step: string
  readonly exp: number
}

const VERSION = 'sfw1'
const TOKEN = /^(sfw1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)$/
const MAX_TOKEN_LENGTH = 2000

function signatureOf(signed: string, secret: string): string {
  return createHmac('sha256', secret).update(signed).digest('base64url')
}

/** Compares hashes: they are equally long, and how far they agree tells nothing about the texts. */
function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())
}

function checkedSecret({ kid, secret }: WaitTokenKey): string {
  const trimmed = secret.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')
  if (/^[A-Za-z0-9_-]{1,32}$/.test(kid) && [...trimmed].length >= MIN_WAIT_TOKEN_SECRET_LENGTH) return trimmed
  throw new StarflowError({
    code: 'SF206',
    message: `The key "${kid}" cannot sign wait tokens.`,
    detail: `A key has a name of letters, digits, - and _, at most 32, and a secret of at least ${MIN_WAIT_TOKEN_SECRET_LENGTH} characters.`,
    hint: 'Make one: node -p "crypto.randomBytes(32).toString(\'hex\')"',
    fields: { kid },
  })
}

/** Slugs and ids need no escaping in the body, and nothing else may stand there. */
function requireName(claim: 'runId' | 'stepSlug', value: string): void {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(value)) throw unfit(claim, value)
}

function unfit(claim: string, value: unknown): StarflowError {
  return new StarflowError({
    code: 'SF001',
    message: `A wait token cannot have the ${claim} ${JSON.stringify(value)}.`,
    detail: 'Ids and slugs have letters, digits, - and _, at most 128; a time is a number of seconds.',
    hint: 'Pass the id of a run and the slug of one of its waits.',
  })
}
