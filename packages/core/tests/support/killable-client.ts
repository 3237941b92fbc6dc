import { setTimeout as pause } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import type { TestDatabase } from '../../../../tests/support/test-database.ts'

/**
 * postgres 3.4.9 never answers a query that it is given right after ECONNRESET, before its socket has closed. Nor must a
 * cut transaction of `sql.begin` or `sql.reserve` be used: it writes to no socket, which is an uncaught exception.
 */
const RECONNECT_PAUSE_MS = 10

/** One connection that may be cut at any time, from outside or by `kill`, and is then made anew by `renew`. */
export class KillableClient {
  readonly #database: TestDatabase
  readonly #name: string
  #client: Sql

  constructor(database: TestDatabase, name: string) {
    this.#database = database
    this.#name = name
    this.#client = this.#connect()
  }

  get sql(): Sql {
    return this.#client
  }

  /** Ends this connection from another one, and returns when its backend is gone. What it is given next, a new one does. */
  async kill(killer: Sql): Promise<void> {
    await killer`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and application_name = ${this.#name}`
    await pause(RECONNECT_PAUSE_MS)
  }

  async renew(): Promise<void> {
    this.#client.end({ timeout: 0 }).catch(() => {})
    await pause(RECONNECT_PAUSE_MS)
    this.#client = this.#connect()
  }

  async end(): Promise<void> {
    await this.#client.end({ timeout: 1 })
  }

  #connect(): Sql {
    return postgres(this.#database.url, {
      max: 1,
      onnotice: () => {},
      // A connection that is cut while it fetches types would reject a promise that nobody holds.
      fetch_types: false,
      connection: { application_name: this.#name },
    })
  }
}

/** Whether a query failed because its connection was cut. */
export function isLostConnection(error: unknown): boolean {
  const { code } = error as { code?: string }
  return ['57P01', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'ECONNRESET', 'EPIPE'].includes(
    code ?? '',
  )
}

/** Whether a call of settle_and_claim has waited for a run as long as it may. Nothing has changed. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === '55P03'
}
