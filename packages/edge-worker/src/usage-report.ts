import { USAGE_REPORT_INTERVAL_MS } from './numbers.ts'

/** What a worker has done and used so far. */
export interface WorkerUsage {
  /** Tasks that have ended, completed or failed. */
  readonly tasks: number
  /** CPU of the process since its start; null where it cannot be measured from inside. */
  readonly cpuMs: number | null
}

export interface UsageReportOptions {
  readonly measure: () => WorkerUsage
  readonly send: (usage: WorkerUsage) => Promise<void>
  /** The first of several failures in a row. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Tells the database now and then how many tasks a worker has ended. Not with the hot call, which has enough to do, and not
 * while nothing ends: an idle worker sends none.
 */
export class UsageReport {
  readonly #options: UsageReportOptions
  #timer: ReturnType<typeof setInterval> | undefined
  #sending: Promise<void> | undefined
  #toldTasks = 0
  #hasFailed = false

  constructor(options: UsageReportOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#tell(), USAGE_REPORT_INTERVAL_MS)
  }

  /** Tells what is left to tell; settles also when that fails. */
  stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    // Sent before this returns, so that nothing that the caller sends overtakes it.
    return this.#sending === undefined ? this.#tell() : this.#sending.then(() => this.#tell())
  }

  #tell(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<void> {
    const usage = this.#options.measure()
    if (usage.tasks === this.#toldTasks) return
    try {
      await this.#options.send(usage)
      this.#toldTasks = usage.tasks
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure(error)
      this.#hasFailed = true
    }
  }
}
