import pg, { type PoolClient } from 'pg'

export interface TransactionPoolOptions {
  readonly url: string
  /** Names the connections in `pg_stat_activity`. */
  readonly name: string
  readonly maxConnections: number
}

export interface TransactionOptions {
  readonly isReadOnly?: boolean
  /** What is done when the work has succeeded; when it has not, it is rolled back. Default commit. */
  readonly end?: 'commit' | 'rollback'
}

const ACQUIRE_TIMEOUT_MS = 10_000

/**
 * Connections that run transactions and may be lost at any moment: then the transaction rejects, and the next one gets
 * another connection. The driver is `pg`, since it hands on texts as they are: the other one reads times and JSON, and loses
 * digits of both.
 */
export class TransactionPool {
  readonly #pool: pg.Pool
  readonly #active = new Set<PoolClient>()

  constructor({ url, name, maxConnections }: TransactionPoolOptions) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      application_name: name,
      // A statement whose connection was broken off ends within a second, instead of at its timeout.
      options: '-c client_connection_check_interval=1000',
    })
    // Of a connection that is lost, idle or at work: the query that it breaks is told by itself.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#pool.on('error', () => {})
  }

  async run<T>(work: (client: PoolClient) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { isReadOnly = false, end = 'commit' } = options
    const client = await this.#pool.connect()
    this.#active.add(client)
    let isBroken = false
    try {
      await client.query(isReadOnly ? 'begin read only' : 'begin')
      const result = await work(client)
      await client.query(end)
      return result
    } catch (error) {
      await client.query('rollback').catch(() => {
        isBroken = true
      })
      throw error
    } finally {
      this.#active.delete(client)
      client.release(isBroken)
    }
  }

  /** Breaks off what runs, and settles when no connection is open. Twice is fine. */
  async stop(): Promise<void> {
    if (this.#pool.ending) return
    const ended = this.#pool.end()
    for (const client of this.#active) client.connection.stream.destroy()
    await ended
  }
}

/** True for what Postgres has answered, false where it could not be asked. */
export function isSqlError(error: unknown): error is pg.DatabaseError & { readonly code: string } {
  return error instanceof pg.DatabaseError && error.code !== undefined
}
