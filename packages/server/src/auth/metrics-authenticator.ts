import { areEqualSecrets } from './api-token.ts'
import { type GuessLimit, unauthenticated } from './guess-limit.ts'

/**
 * Decides who may read metrics: whoever has the token that is for nothing else, or the operator's. No database is asked, so that
 * metrics are there when it is not.
 */
export class MetricsAuthenticator {
  readonly #tokens: readonly string[]
  readonly #guesses: GuessLimit

  constructor(tokens: readonly string[], guesses: GuessLimit) {
    this.#tokens = tokens
    this.#guesses = guesses
  }

  /** @throws StarflowError SF903, SF906 */
  async check(bearer: string | undefined, address: string): Promise<void> {
    if (bearer === undefined) throw unauthenticated()
    await this.#guesses.check(bearer, address, async () => {
      // Each is compared, so that the time tells nothing of which one was near.
      const matches = this.#tokens.map((token) => areEqualSecrets(bearer, token))
      return matches.includes(true) ? true : undefined
    })
  }
}
