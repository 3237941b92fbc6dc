import type pg from 'pg'
import { CallLimit } from './call-limit.ts'
import { databaseTimeout } from './connection-loss.ts'
import { LISTENER_PROBE_MS, LISTENER_RECONNECT_MS } from './database-limits.ts'

export interface ListenerEvents {
  readonly onMessage: (payload: string) => void
  /** It listens: at the start, and again after a connection was lost. Notifications in between are lost. */
  readonly onListening?: () => void
}

/** Listens to one channel on a separate connection, which it replaces when it is lost or silent. */
export class DatabaseListener {
  readonly #makeClient: () => Promise<pg.Client>
  readonly #channel: string
  readonly #events: ListenerEvents
  readonly #timeoutMs: number
  #client: pg.Client | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  constructor(makeClient: () => Promise<pg.Client>, channel: string, events: ListenerEvents, timeoutMs: number) {
    this.#makeClient = makeClient
    this.#channel = channel
    this.#events = events
    this.#timeoutMs = timeoutMs
  }

  /** Resolves when it listens; rejects where it cannot. From then on it tries for as long as it takes. */
  async start(): Promise<void> {
    await this.#connect()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#drop()
  }

  async #connect(): Promise<void> {
    const client = await this.#makeClient()
    this.#client = client
    client.on('notification', ({ channel, payload }) => {
      if (channel === this.#channel) this.#events.onMessage(payload ?? '')
    })
    try {
      await this.#ask(client, `listen ${client.escapeIdentifier(this.#channel)}`)
    } catch (error) {
      this.#drop()
      throw error
    }
    client.on('end', () => this.#again(client))
    if (this.#isStopped) return this.#drop()
    this.#probeLater(client)
    this.#events.onListening?.()
  }

  #probeLater(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      this.#ask(client, 'select 1').then(
        () => {
          if (client === this.#client) this.#probeLater(client)
        },
        () => this.#again(client),
      )
    }, LISTENER_PROBE_MS)
  }

  #again(client: pg.Client): void {
    if (this.#isStopped || client !== this.#client) return
    clearTimeout(this.#timer)
    this.#drop()
    this.#connectLater()
  }

  #connectLater(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => this.#connect().catch(() => this.#connectLater()), LISTENER_RECONNECT_MS)
  }

  async #ask(client: pg.Client, statement: string): Promise<void> {
    const limit = new CallLimit(this.#timeoutMs, () => databaseTimeout(this.#timeoutMs))
    try {
      await limit.race(client.query(statement))
    } finally {
      limit.end()
    }
  }

  /** With a question under way the driver destroys the connection, else it says farewell. */
  #drop(): void {
    this.#client?.end().catch(() => {})
    this.#client = undefined
  }
}
