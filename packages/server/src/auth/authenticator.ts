import type { ServerStore } from '../store/server-store.ts'
import { areEqualSecrets, hasSecretHash, parseApiToken } from './api-token.ts'
import type { Caller } from './caller.ts'
import { GuessLimit, unauthenticated } from './guess-limit.ts'
import { type Session, SessionCookie } from './session-cookie.ts'
import { SignInCodes } from './sign-in-codes.ts'

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
  /** Of a cookie. */
  readonly session: Session | undefined
}

/** Decides who a caller is. A token is looked up each time, so that a revoked one ends at once. */
export class Authenticator {
  readonly sessions: SessionCookie
  readonly signInCodes: SignInCodes
  readonly #apiToken: string
  readonly #store: ServerStore
  readonly #guesses: GuessLimit
  readonly #now: () => number

  constructor(options: {
    readonly apiToken: string
    readonly store: ServerStore
    readonly now: () => number
    /** Default: one of its own. */
    readonly guesses?: GuessLimit
  }) {
    this.#apiToken = options.apiToken
    this.#store = options.store
    this.#now = options.now
    this.sessions = new SessionCookie(options.apiToken, options.now)
    this.signInCodes = new SignInCodes(options.now)
    this.#guesses = options.guesses ?? new GuessLimit(options.now)
  }

  /** @throws StarflowError SF903, SF906 */
  async authenticate(credentials: Credentials): Promise<Authentication> {
    const { bearer, cookie } = credentials
    if (bearer !== undefined) {
      return { caller: await this.authenticateToken(bearer, credentials.address), via: 'bearer', session: undefined }
    }
    if (cookie === undefined) throw unauthenticated()
    const session = await this.#guesses.check(cookie, credentials.address, () => this.#readSession(cookie))
    return { caller: session.caller, via: 'cookie', session }
  }

  /** Whether what was authenticated before would be so now: its token was not revoked, its sign-in not over. */
  async isStillGood({ caller, session }: Authentication): Promise<boolean> {
    if (
      session !== undefined &&
      (session.expiresAt <= this.#now() || (await this.#store.hasSessionEnded(session.id)))
    ) {
      return false
    }
    return caller.kind === 'operator' || (await this.#store.findToken(caller.tokenId)) !== undefined
  }

  /** Ends a sign-in for every copy of its cookie, at every edge. */
  async signOut({ id, expiresAt }: Session): Promise<void> {
    await this.#store.endSession(id, Math.max(expiresAt - this.#now(), 0))
  }

  /** @throws StarflowError SF903, SF906 */
  async authenticateToken(token: string, address: string): Promise<Caller> {
    return await this.#guesses.check(token, address, () => this.#readToken(token))
  }

  /**
   * The operator, for a code of this process that nobody has used.
   *
   * @throws StarflowError SF903, SF906
   */
  async redeemCode(code: string, address: string): Promise<Caller> {
    return await this.#guesses.check(code, address, async () =>
      this.signInCodes.redeem(code) ? { kind: 'operator' as const } : undefined,
    )
  }

  async #readToken(token: string): Promise<Caller | undefined> {
    if (areEqualSecrets(token, this.#apiToken)) return { kind: 'operator' }
    const parsed = parseApiToken(token)
    const stored = parsed && (await this.#store.findToken(parsed.tokenId))
    if (stored === undefined || !hasSecretHash(parsed!.secret, stored.secretHash)) return undefined
    return { kind: 'workspace', workspaceId: stored.workspaceId, tokenId: stored.tokenId }
  }

  async #readSession(cookie: string): Promise<Session | undefined> {
    const session = this.sessions.open(cookie)
    if (session === undefined) return undefined
    return (await this.isStillGood({ caller: session.caller, via: 'cookie', session })) ? session : undefined
  }
}
