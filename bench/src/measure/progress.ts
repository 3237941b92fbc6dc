/**
 * What handlers tell while a system works: counts, and the time from the end of one step's handler to the beginning of
 * the next one's. The same for every system, and in its favour: a step counts when its handler ends.
 */
export class Progress {
  steps = 0
  runs = 0
  /** Milliseconds from the end of a step's handler to the beginning of its successor. */
  readonly handOffs: number[] = []
  readonly #now: () => number
  readonly #endedAt = new Map<string, number>()
  #waiting: { runs: number; wake: () => void } | undefined
  #firstAt = Number.NaN
  #lastAt = Number.NaN

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** From the first step's end to the last one's. What a system takes to notice that it has work is not in it. */
  get seconds(): number {
    return (this.#lastAt - this.#firstAt) / 1000
  }

  began(run: string, step: number): void {
    const endedAt = step > 0 ? this.#endedAt.get(run) : undefined
    if (endedAt === undefined) return
    this.handOffs.push(this.#now() - endedAt)
    this.#endedAt.delete(run)
  }

  ended(run: string, isLast: boolean): void {
    if (!isLast) this.#endedAt.set(run, this.#now())
    this.add(1, isLast ? 1 : 0)
  }

  add(steps: number, runs: number): void {
    this.steps += steps
    this.runs += runs
    this.#lastAt = this.#now()
    if (Number.isNaN(this.#firstAt)) this.#firstAt = this.#lastAt
    if (this.#waiting !== undefined && this.runs >= this.#waiting.runs) this.#waiting.wake()
  }

  /** True when so many runs have ended since the last reset, false when `timeoutMs` is over first. */
  async until(runs: number, timeoutMs: number): Promise<boolean> {
    if (this.runs >= runs) return true
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting = undefined
        resolve(false)
      }, timeoutMs)
      this.#waiting = {
        runs,
        wake: () => {
          clearTimeout(timer)
          this.#waiting = undefined
          resolve(true)
        },
      }
    })
  }

  reset(): void {
    this.steps = 0
    this.runs = 0
    this.#firstAt = Number.NaN
    this.handOffs.length = 0
    this.#endedAt.clear()
  }
}
