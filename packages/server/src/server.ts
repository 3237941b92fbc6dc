import { setTimeout as pause } from 'node:timers/promises'
import type { Listener } from './http/listener.ts'
import type { ServerLog } from './log.ts'
import { STOP_TIMEOUT_MS } from './numbers.ts'
import type { Readiness } from './readiness.ts'
import type { ServiceGroup } from './service.ts'

/** What of a runner the server steers. */
export interface DrainableRunner {
  readonly activeRuns: number
  start(): Promise<void>
  drain(timeoutMs: number): Promise<void>
}

export interface ServerParts {
  readonly readiness: Readiness
  readonly services: ServiceGroup
  /** Undefined where the role claims nothing. */
  readonly runner: DrainableRunner | undefined
  readonly drainTimeoutMs: number
  readonly drainNoticeMs: number
  readonly listen: () => Promise<Listener>
  /** Ends streams. */
  readonly stopStreams: () => void
  readonly closeStorage: () => Promise<void>
  readonly log: ServerLog
}

/** One process of Starflow, from its first answer to its last. */
export class StarflowServer {
  readonly #parts: ServerParts
  #listener: Listener | undefined
  #draining: Promise<void> | undefined

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  /** Once it has started. */
  get url(): string {
    return this.#listener?.url ?? ''
  }

  /**
   * Listens first, so that a taken port claims nothing; it is ready when everything has started. When it fails, the storage is
   * left to whoever opened it.
   */
  async start(): Promise<void> {
    const { readiness, runner, services, listen } = this.#parts
    try {
      this.#listener = await listen()
      await runner?.start()
      await services.start()
    } catch (error) {
      await runner?.drain(0)
      await this.#listener?.close()
      throw error
    }
    readiness.ready()
  }

  /**
   * Ends in the order of the runbook; twice is fine:
   *
   * 1. `/readyz` answers 503, so that nobody sends anything new
   * 2. claiming stops, and so does what else begins work by itself
   * 3. active runs get the drain timeout; what is left then is found by the sweep of another process
   * 4. whoever sends requests has had the time to notice
   * 5. streams end, answers under way are finished, the port and the storage close
   *
   * Requests are answered until step 5: a run that waits for one of them can still end. A database that hangs holds up none of
   * it: the process ends within the drain timeout and some 15 s, whatever does not answer.
   */
  drain(): Promise<void> {
    this.#draining ??= this.#drain()
    return this.#draining
  }

  async #drain(): Promise<void> {
    const { readiness, services, runner, drainTimeoutMs, drainNoticeMs, stopStreams, closeStorage, log } = this.#parts
    readiness.drain()
    log.info({ activeRuns: runner?.activeRuns ?? 0, drainTimeoutMs }, 'draining')
    await Promise.all([this.#inTime('services', services.stop()), runner?.drain(drainTimeoutMs), pause(drainNoticeMs)])
    stopStreams()
    await this.#listener?.close()
    await this.#inTime('storage', closeStorage())
    log.info({}, 'stopped')
  }

  /** What waits for a database that does not answer holds up no process that ends. */
  async #inTime(what: string, work: Promise<void>): Promise<void> {
    const done = new AbortController()
    const late = pause(STOP_TIMEOUT_MS, true, { signal: done.signal }).catch(() => false)
    const isLate = await Promise.race([work.then(() => false), late]).finally(() => done.abort())
    if (isLate) this.#parts.log.warn({ what, timeoutMs: STOP_TIMEOUT_MS }, 'did not stop in time')
  }
}
