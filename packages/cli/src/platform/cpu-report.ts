import type { IsolateInfo } from '@starflow/local'

/** How often the CPU of isolates is told to the database. */
export const CPU_REPORT_INTERVAL_MS = 5_000

/** Reports that have to arrive with the last figure of an isolate: one passes over a row that somebody holds at that moment. */
const LAST_REPORTS = 2

/** An isolate and what it has used since its boot. */
export type MeasuredIsolate = Pick<IsolateInfo, 'id' | 'cpuMs'>

export interface CpuReportOptions {
  /** Those that live. */
  readonly isolates: () => readonly MeasuredIsolate[]
  /** Tells the database, in one statement: milliseconds by the id of the isolate. */
  readonly send: (cpuMs: Readonly<Record<string, number>>) => Promise<unknown>
  /** The first of several failures in a row. Nothing is lost by them: the next report has all. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Tells the database what the isolates use, which the workers inside cannot measure: while they live, and twice more when
 * they have ended.
 */
export class CpuReport {
  readonly #options: CpuReportOptions
  /** Isolates that have ended, and how many reports are still to have their last figure. */
  readonly #ended = new Map<string, { readonly cpuMs: number; reports: number }>()
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #hasFailed = false

  constructor(options: CpuReportOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#tell(), CPU_REPORT_INTERVAL_MS)
  }

  /** An isolate has ended. */
  ended({ id, cpuMs }: MeasuredIsolate): void {
    this.#ended.set(id, { cpuMs, reports: LAST_REPORTS })
  }

  /** Tells what is left to tell; settles also when that fails. Without a start there is nothing to tell. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#sending
    await this.#tell()
    if (this.#ended.size > 0 && !this.#hasFailed) await this.#tell()
  }

  #tell(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<void> {
    const ended = [...this.#ended].map(([id, { cpuMs }]) => [id, cpuMs] as const)
    const living = this.#options.isolates().map(({ id, cpuMs }) => [id, cpuMs] as const)
    if (ended.length + living.length === 0) return
    try {
      await this.#options.send(Object.fromEntries([...living, ...ended]))
      for (const [id] of ended) this.#forget(id)
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure(error)
      this.#hasFailed = true
    }
  }

  /** After the last of its reports. */
  #forget(id: string): void {
    const last = this.#ended.get(id)
    if (last !== undefined && --last.reports === 0) this.#ended.delete(id)
  }
}
