import type { Json } from '@starflow/dsl'
import type { WarmTier } from './warm-tier.ts'

/**
 * Sends what steps say of themselves without making them wait: of one node at most one value is on its way and one waits, the newest.
 * What cannot be sent is dropped.
 */
export class ProgressSender {
  readonly #warm: Pick<WarmTier, 'reportProgress'>
  readonly #onFailure: (error: unknown) => void
  readonly #waiting = new Map<string, { readonly runId: string; readonly nodeId: string; readonly value: Json }>()
  readonly #sending = new Map<string, Promise<void>>()

  constructor(warm: Pick<WarmTier, 'reportProgress'>, onFailure: (error: unknown) => void) {
    this.#warm = warm
    this.#onFailure = onFailure
  }

  send(runId: string, nodeId: string, value: Json): void {
    const key = `${runId} ${nodeId}`
    this.#waiting.set(key, { runId, nodeId, value })
    if (!this.#sending.has(key)) this.#sending.set(key, this.#sendAll(key))
  }

  /** Settles when nothing is on its way. */
  async settled(): Promise<void> {
    await Promise.all(this.#sending.values())
  }

  async #sendAll(key: string): Promise<void> {
    for (let next = this.#waiting.get(key); next !== undefined; next = this.#waiting.get(key)) {
      this.#waiting.delete(key)
      await this.#warm.reportProgress(next.runId, next.nodeId, next.value).catch(this.#onFailure)
    }
    this.#sending.delete(key)
  }
}
