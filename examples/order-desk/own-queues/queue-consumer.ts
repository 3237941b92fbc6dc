import type postgres from 'postgres'
import { CardRefusedError, type Sql } from '../domain.ts'

export interface QueueConsumerOptions {
  readonly sql: postgres.Sql
  readonly queue: string
  /** Where the order goes next. */
  readonly nextQueue?: string
  readonly concurrency: number
  readonly visibilitySeconds: number
  readonly maxAttempts: number
  readonly baseDelaySeconds: number
  readonly handle: (orderId: string) => Promise<void>
  readonly giveUp: (tx: Sql, orderId: string, reason: string) => Promise<void>
}

interface OrderMessage {
  readonly msg_id: string
  readonly read_ct: number
  readonly message: { readonly orderId: string }
}

const POLL_MS = 50

/** Works off one queue of orders until it is stopped. */
export class QueueConsumer {
  readonly #options: QueueConsumerOptions
  readonly #working = new Set<Promise<void>>()
  #isStopping = false
  #polling: Promise<void> | undefined

  constructor(options: QueueConsumerOptions) {
    this.#options = options
  }

  start(): void {
    this.#polling ??= this.#poll()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#polling
    await Promise.all(this.#working)
  }

  async #poll(): Promise<void> {
    const { sql, queue, concurrency, visibilitySeconds } = this.#options
    while (!this.#isStopping) {
      const free = concurrency - this.#working.size
      const messages =
        free === 0 ? [] : await sql<OrderMessage[]>`select * from pgmq.read(${queue}, ${visibilitySeconds}, ${free})`
      for (const message of messages) {
        const work = this.#work(message).finally(() => this.#working.delete(work))
        this.#working.add(work)
      }
      if (messages.length === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  async #work(message: OrderMessage): Promise<void> {
    const { sql, queue, visibilitySeconds, handle } = this.#options
    const extension = setInterval(
      () =>
        void sql`select pgmq.set_vt(${queue}, ${message.msg_id}::bigint, ${visibilitySeconds}::integer)`.catch(
          () => {},
        ),
      (visibilitySeconds * 1000) / 3,
    )
    try {
      await handle(message.message.orderId)
      await this.#complete(message)
    } catch (error) {
      await this.#fail(message, error)
    } finally {
      clearInterval(extension)
    }
  }

  async #complete({ msg_id, message }: OrderMessage): Promise<void> {
    const { sql, queue, nextQueue } = this.#options
    await sql.begin(async (tx) => {
      const [done] = await tx<[{ archive: boolean }]>`select pgmq.archive(${queue}, ${msg_id}::bigint)`
      // Somebody else was given it meanwhile, and was faster.
      if (!done.archive || nextQueue === undefined) return
      await tx`select pgmq.send(${nextQueue}, ${tx.json({ orderId: message.orderId })}::jsonb)`
    })
  }

  async #fail({ msg_id, read_ct, message }: OrderMessage, error: unknown): Promise<void> {
    const { sql, queue, maxAttempts, baseDelaySeconds, giveUp } = this.#options
    if (!(error instanceof CardRefusedError) && read_ct < maxAttempts) {
      const delay = baseDelaySeconds * 2 ** (read_ct - 1)
      await sql`select pgmq.set_vt(${queue}, ${msg_id}::bigint, ${delay}::integer)`
      return
    }
    const reason = error instanceof Error ? error.message : String(error)
    await sql.begin(async (tx) => {
      await tx`select pgmq.send('failed_orders', ${tx.json({ orderId: message.orderId, queue, reason })}::jsonb)`
      await tx`select pgmq.archive(${queue}, ${msg_id}::bigint)`
      await giveUp(tx, message.orderId, reason)
    })
  }
}
