import type { Sql } from 'postgres'
import type { Broadcast } from './broadcast.ts'

/** A row of realtime.messages. */
interface MessageRow {
  readonly id: string
  readonly topic: string
  readonly event: string
  readonly payload: string | null
  readonly isPrivate: boolean
}

const CHANNEL = 'realtime_messages'
const MAX_MESSAGES_AT_ONCE = 200
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Hears of messages that transactions have committed to `realtime.messages`, and hands them on in the order of the
 * commits. The notification names only the row, since it cannot carry a long payload. What is committed while the
 * connection is lost is not handed on: broadcasts are hints, here as on a hosted project.
 */
export class BroadcastListener {
  readonly #sql: Sql
  readonly #onBroadcast: (broadcast: Broadcast) => void
  readonly #isWanted: () => boolean
  #waiting: string[] = []
  #reading: Promise<void> | undefined
  #unlisten: (() => Promise<void>) | undefined

  /** `isWanted`: false while nobody listens, so that nothing has to be read. */
  constructor(options: {
    readonly sql: Sql
    readonly onBroadcast: (broadcast: Broadcast) => void
    readonly isWanted: () => boolean
  }) {
    this.#sql = options.sql
    this.#onBroadcast = options.onBroadcast
    this.#isWanted = options.isWanted
  }

  /** Settles when it listens; from then on the driver listens again by itself when the connection is lost. */
  async start(): Promise<void> {
    if (this.#unlisten !== undefined) return
    const { unlisten } = await this.#sql.listen(CHANNEL, (id) => this.#hear(id))
    this.#unlisten = unlisten
  }

  async stop(): Promise<void> {
    this.#waiting = []
    await this.#unlisten?.().catch(() => {})
    this.#unlisten = undefined
    await this.#reading
  }

  #hear(id: string): void {
    // Anyone may notify; what is no id is none of ours.
    if (!this.#isWanted() || !UUID.test(id)) return
    this.#waiting.push(id)
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
  }

  async #readAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const ids = this.#waiting.splice(0, MAX_MESSAGES_AT_ONCE)
      const rows = await this.#sql<MessageRow[]>`
        select id, topic, event, payload::text as payload, private as "isPrivate"
        from realtime.messages
        where id = any(${`{${ids.join(',')}}`}::uuid[]) and extension = 'broadcast' and event is not null`.catch(
        () => [],
      )
      const found = new Map(rows.map((row) => [row.id, row]))
      for (const id of ids) {
        const row = found.get(id)
        if (row !== undefined) this.#onBroadcast({ ...row, payload: { json: row.payload ?? '{}' } })
      }
    }
  }
}
