/** The header has whole seconds, and the answer travels: what is nearer than this is the same time. */
const TOLERANCE_MS = 2_000

/**
 * The clock of the server, as far as its answers tell: ages are told against it, since the clock of the computer in front of a
 * person may be minutes off.
 */
export class ServerClock {
  readonly #now: () => number
  #offsetMs = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Takes the `Date` header of an answer that has just come. */
  observe(dateHeader: string | null): void {
    const told = dateHeader === null ? Number.NaN : Date.parse(dateHeader)
    if (Number.isNaN(told)) return
    const offset = told - this.#now()
    this.#offsetMs = Math.abs(offset) <= TOLERANCE_MS ? 0 : offset
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#now() + this.#offsetMs
  }
}

export const serverClock = new ServerClock()
