import { StarflowError } from '@starflow/errors'
import { FAILED_ATTEMPTS_WINDOW_MS, MAX_REMEMBERED_CALLERS } from '../numbers.ts'
import { digestOf } from './api-token.ts'
import { FailedAttempts } from './failed-attempts.ts'

/**
 * Slows guessing down. What is not recognised counts against the address it came from; from too many of those on, nothing from there
 * is looked at, but for credentials that were good a moment ago: behind a shared address the others go on.
 */
export class GuessLimit {
  readonly #failures: FailedAttempts
  readonly #known: RecentCredentials

  constructor(now: () => number) {
    this.#failures = new FailedAttempts(now)
    this.#known = new RecentCredentials(now)
  }

  /** @throws StarflowError SF903, or what `refusal` gives, where `read` recognises nothing; SF906 */
  async check<T>(
    secret: string,
    address: string,
    read: () => Promise<T | undefined>,
    refusal: () => StarflowError = unauthenticated,
  ): Promise<T> {
    const waitMs = this.#failures.waitMs(address)
    if (waitMs > 0 && !this.#known.has(secret)) throw tooManyAttempts(waitMs)
    const found = await read()
    if (found === undefined) {
      // Of many that came at once, before one of them was counted, those beyond the limit are told no more than later ones.
      const waitMs = this.#failures.waitMs(address)
      if (waitMs > 0) throw tooManyAttempts(waitMs)
      this.#failures.record(address)
      throw refusal()
    }
    this.#known.add(secret)
    return found
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

/** @returns SF903 */
export function unauthenticated(): StarflowError {
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
