import { randomBytes } from 'node:crypto'
import { MAX_SIGN_IN_CODES, SIGN_IN_CODE_TTL_MS } from '../numbers.ts'
import { digestOf } from './api-token.ts'

/**
 * Codes that sign the operator in, once each and soon: for a link that whoever started this process finds in their terminal.
 * They live in this process alone, and nothing but code inside of it can issue one.
 */
export class SignInCodes {
  readonly #now: () => number
  /** When each is over, by hash, the oldest first. */
  readonly #open = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  issue(): string {
    const code = randomBytes(32).toString('base64url')
    this.#open.set(digestOf(code), this.#now() + SIGN_IN_CODE_TTL_MS)
    if (this.#open.size > MAX_SIGN_IN_CODES) this.#open.delete(this.#open.keys().next().value!)
    return code
  }

  /** True the first time, as long as the code is young. */
  redeem(code: string): boolean {
    const key = digestOf(code)
    const expiresAt = this.#open.get(key)
    this.#open.delete(key)
    return expiresAt !== undefined && expiresAt > this.#now()
  }
}
