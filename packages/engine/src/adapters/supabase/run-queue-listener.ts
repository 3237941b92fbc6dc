import postgres, { type Sql } from 'postgres'

/** Where `starflow._wake_runners` tells that a run can be claimed: the payload is its pool, empty for no pool. */
const CHANNEL = 'starflow_queue'

/** Listens on a direct connection for runs that were queued. Opened with the first listener, closed with the adapter. */
export class RunQueueListener {
  readonly #databaseUrl: string
  readonly #listeners = new Set<{ readonly pool: string | null; readonly wake: () => void }>()
  #connection: Sql | undefined
  #listening: Promise<unknown> | undefined

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl
  }

  /** Settles when nothing that is queued from now on can be missed. */
  async add(pool: string | null, wake: () => void): Promise<() => Promise<void>> {
    const listener = { pool, wake }
    this.#listeners.add(listener)
    try {
      await this.#listen()
    } catch (error) {
      this.#listeners.delete(listener)
      throw error
    }
    return async () => {
      this.#listeners.delete(listener)
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection
    this.#listeners.clear()
    this.#connection = undefined
    this.#listening = undefined
    await connection?.end({ timeout: 1 })
  }

  async #listen(): Promise<void> {
    this.#connection ??= postgres(this.#databaseUrl, {
      max: 1,
      // Asked for by the driver, they end the process when the connection is lost at that moment.
      fetch_types: false,
      onnotice: () => {},
      connection: { application_name: 'starflow queue listener' },
    })
    this.#listening ??= this.#connection
      .listen(
        CHANNEL,
        (pool) => this.#wake((listener) => pool === '' || listener === pool),
        // Also after a connection was lost: what was told meanwhile nobody has heard.
        () => this.#wake(() => true),
      )
      .catch((error: unknown) => {
        this.#listening = undefined
        throw error
      })
    await this.#listening
  }

  #wake(concerns: (pool: string | null) => boolean): void {
    for (const { pool, wake } of this.#listeners) if (concerns(pool)) wake()
  }
}
