import { StarflowError } from '@starflow/errors'
import { FAILED_ATTEMPTS_WINDOW_MS, MAX_REMEMBERED_CALLERS } from '../numbers.ts'
import type { ServerStore } from '../store/server-store.ts'
import { areEqualSecrets, digestOf, hasSecretHash, parseApiToken } from './api-token.ts'
import type { Caller } from './caller.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { SessionCookie } from './session-cookie.ts'

/** What a request brings to prove who sends it. */
export interface Credentials {
  readonly bearer: string | undefined
  /** The value of the session cookie. */
  readonly cookie: string | undefined
  /** Where it comes from; failed attempts are counted by it. */
  readonly address: string
}

export interface Authentication {
  readonly caller: Caller
  /** `cookie`: a browser sent it by itself, and changes need more proof. */
  readonly via: 'bearer' | 'cookie'
  readonly expiresAt: number | undefined
}

/** Decides who a caller is. A token is looked up each time, so that a revoked one ends at once. */
export class Authenticator {
  readonly sessions: SessionCookie
  readonly #apiToken: string
  readonly #store: ServerStore
  readonly #failures: FailedAttempts
  readonly #known: RecentCredentials

  constructor(options: { readonly apiToken: string; readonly store: ServerStore; readonly now: () => number }) {
    this.#apiToken = options.apiToken
    this.#store = options.store
    this.sessions = new SessionCookie(options.apiToken, options.now)
    this.#failures = new FailedAttempts(options.now)
    this.#known = new RecentCredentials(options.now)
  }

  /** @throws StarflowError SF903, SF906 */
  async authenticate(credentials: Credentials): Promise<Authentication> {
    const { bearer, cookie } = credentials
    if (bearer !== undefined) {
      return { caller: await this.authenticateToken(bearer, credentials.address), via: 'bearer', expiresAt: undefined }
    }
    if (cookie === undefined) throw unauthenticated()
    const session = await this.#limited(cookie, credentials.address, () => this.#readSession(cookie))
    return { ...session, via: 'cookie' }
  }

  /** @throws StarflowError SF903, SF906 */
  async authenticateToken(token: string, address: string): Promise<Caller> {
    return await this.#limited(token, address, () => this.#readToken(token))
  }

  /**
   * Counts what `read` does not recognise against the address; from too many of those on, nothing from there is looked at, but
   * for credentials that were good a moment ago: behind a shared address the others go on.
   */
  async #limited<T>(secret: string, address: string, read: () => Promise<T | undefined>): Promise<T> {
    const waitMs = this.#failures.waitMs(address)
    if (waitMs > 0 && !this.#known.has(secret)) throw tooManyAttempts(waitMs)
    const found = await read()
    if (found === undefined) {
      this.#failures.record(address)
      throw unauthenticated()
    }
    this.#known.add(secret)
    return found
  }

  async #readToken(token: string): Promise<Caller | undefined> {
    if (areEqualSecrets(token, this.#apiToken)) return { kind: 'operator' }
    const parsed = parseApiToken(token)
    const stored = parsed && (await this.#store.findToken(parsed.tokenId))
    if (stored === undefined || !hasSecretHash(parsed!.secret, stored.secretHash)) return undefined
    return { kind: 'workspace', workspaceId: stored.workspaceId, tokenId: stored.tokenId }
  }

  async #readSession(cookie: string): Promise<{ caller: Caller; expiresAt: number } | undefined> {
    const session = this.sessions.open(cookie)
    if (session?.caller.kind !== 'workspace') return session
    return (await this.#store.findToken(session.caller.tokenId)) === undefined ? undefined : session
  }
}

/** Credentials that were good within the window, by hash; bounded. */
class RecentCredentials {
  readonly #now: () => number
  readonly #lastGood = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  add(secret: string): void {
    const key = digestOf(secret)
    this.#lastGood.delete(key)
    this.#lastGood.set(key, this.#now())
    if (this.#lastGood.size > MAX_REMEMBERED_CALLERS) this.#lastGood.delete(this.#lastGood.keys().next().value!)
  }

  has(secret: string): boolean {
    const at = this.#lastGood.get(digestOf(secret))
    return at !== undefined && at + 10 * FAILED_ATTEMPTS_WINDOW_MS > this.#now()
  }
}

function unauthenticated(): StarflowError {
  return new StarflowError({
    code: 'SF903',
    message: 'This request is not authenticated.',
    detail: 'It carries no token that is good here.',
    hint: 'Send Authorization: Bearer <token>.',
  })
}

function tooManyAttempts(waitMs: number): StarflowError {
  const retryAfterSeconds = Math.ceil(waitMs / 1000)
  return new StarflowError({
    code: 'SF906',
    message: 'There were too many failed attempts to authenticate from here.',
    detail: `Tokens from this address are looked at again in ${retryAfterSeconds} s.`,
    hint: 'Wait that long, then send a good token.',
    fields: { retryAfterSeconds },
  })
}
