/** One question that is asked once for all who ask it within a short time. */
export class SharedAnswer<TAnswer> {
  readonly #ask: () => Promise<TAnswer>
  readonly #keptMs: number
  readonly #now: () => number
  #kept: { readonly answer: Promise<TAnswer>; readonly askedAt: number } | undefined

  constructor(ask: () => Promise<TAnswer>, keptMs: number, now: () => number = Date.now) {
    this.#ask = ask
    this.#keptMs = keptMs
    this.#now = now
  }

  /** The answer, as old as it may be. What failed is asked again by the next one. */
  get(): Promise<TAnswer> {
    if (this.#kept !== undefined && this.#now() - this.#kept.askedAt < this.#keptMs) return this.#kept.answer
    const answer = this.#ask()
    const kept = { answer, askedAt: this.#now() }
    this.#kept = kept
    answer.catch(() => {
      if (this.#kept === kept) this.#kept = undefined
    })
    return answer
  }
}
