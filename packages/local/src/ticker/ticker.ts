import postgres, { type Sql } from 'postgres'
import { CronRunner } from './cron-runner.ts'
import { HttpSender } from './http-sender.ts'
import type { TickerEventListener } from './ticker-event.ts'

export interface TickerOptions {
  /** The database, as a superuser. */
  readonly adminUrl: string
  /** A URL with which that user logs in to the same database, or undefined if it cannot: its jobs fail. */
  readonly urlOf: (username: string) => string | undefined
  readonly onEvent?: TickerEventListener
  /** For tests. Default `Date.now`. */
  readonly now?: () => number
  /** Default 1000: within this time a new or changed job is noticed. */
  readonly intervalMs?: number
  /** Runs of each job that stay in cron.job_run_details. pg_cron keeps all; default 200. */
  readonly keptRuns?: number
  /** HTTP requests that may be open at once. Default 128. */
  readonly maxConcurrentRequests?: number
}

/**
 * Does what pg_cron and pg_net do on a Supabase project, from outside: runs the jobs of `cron.job` and sends the requests of
 * `net.http_request_queue`. Either extension may be missing, or be created while it runs.
 */
export class Ticker {
  readonly #options: TickerOptions
  #admin: Sql | undefined
  #services: readonly { start(): void; stop(): Promise<void> }[] = []

  constructor(options: TickerOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#admin !== undefined) return
    const { adminUrl, urlOf, onEvent = () => {}, now = Date.now, intervalMs = 1_000 } = this.#options
    const admin = postgres(adminUrl, {
      max: 4,
      onnotice: () => {},
      fetch_types: false,
      // The loops have their own patience.
      backoff: () => 0.1,
      connection: { application_name: 'starflow ticker' },
    })
    this.#admin = admin
    this.#services = [
      new CronRunner({ admin, urlOf, onEvent, now, intervalMs, keptRuns: this.#options.keptRuns ?? 200 }),
      new HttpSender({ admin, onEvent, intervalMs, maxConcurrent: this.#options.maxConcurrentRequests ?? 128 }),
    ]
    for (const service of this.#services) service.start()
  }

  /** Breaks off what runs, and settles when no job, request or connection is left. */
  async stop(): Promise<void> {
    const admin = this.#admin
    if (admin === undefined) return
    this.#admin = undefined
    await Promise.all(this.#services.map((service) => service.stop()))
    await admin.end({ timeout: 1 })
  }
}
