import type { Database } from '@starflow/core'

/** Where `starflow._wake_runners` tells that a run can be claimed: the payload is its pool, empty for no pool. */
const CHANNEL = 'starflow_queue'

/** Listens on a direct connection for runs that were queued. Opened with the first listener, closed with the adapter. */
export class RunQueueListener {
  readonly #database: Database
  readonly #listeners = new Set<{ readonly pool: string | null; readonly wake: () => void }>()
  #listening: Promise<unknown> | undefined

  /** Ended by `close`. */
  constructor(database: Database) {
    this.#database = database
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
    this.#listeners.clear()
    await this.#database.end({ timeout: 1 })
  }

  async #listen(): Promise<void> {
    this.#listening ??= this.#database
      .listen(CHANNEL, {
        onMessage: (pool) => this.#wake((listener) => pool === '' || listener === pool),
        // Also after a connection was lost: what was told meanwhile nobody has heard.
        onListening: () => this.#wake(() => true),
      })
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
