import type { Clock } from '../engine/clock.ts'
import { CLAIM_PATIENCE_MS } from '../numbers.ts'
import type { ClaimArgs, ClaimedRun, QueueingStateAdapter } from '../state-adapter.ts'
import { RepeatingTask } from './repeating-task.ts'
import type { Service } from './service.ts'

export interface ClaimLoopOptions {
  readonly adapter: QueueingStateAdapter
  readonly clock: Clock
  readonly intervalMs: number
  readonly args: ClaimArgs
  readonly freeSlots: () => number
  readonly onClaimed: (claimed: ClaimedRun) => void
  readonly onFailure: (error: unknown) => void
  /** The store cannot tell of queued runs now; they are asked for at the interval. */
  readonly onDeaf: (error: unknown) => void
}

/** Claims runs while there is room for them: at an interval, when one may have been queued, and when a slot is free. */
export class ClaimLoop implements Service {
  readonly #options: ClaimLoopOptions
  readonly #task: RepeatingTask
  #subscription: Promise<(() => Promise<void>) | undefined> | undefined
  #isStopped = false
  #hasFailed = false
  /** When the claim under way was asked for. */
  #askedAt: number | undefined

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    const { clock, intervalMs, onFailure } = options
    this.#task = new RepeatingTask({ clock, intervalMs, onFailure, once: () => this.#claim() })
  }

  /** Whether claims are answered: false when the last one failed, or when one has waited for too long. */
  get isClaiming(): boolean {
    const { clock } = this.#options
    const isLate = this.#askedAt !== undefined && clock.now() - this.#askedAt > CLAIM_PATIENCE_MS
    return !this.#isStopped && !this.#hasFailed && !isLate
  }

  start(): void {
    this.#subscription ??= this.#subscribe()
    this.#task.start()
  }

  /** There may be something to claim, or room for it. */
  wake(): void {
    this.#task.wake()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#task.stop()
    const unsubscribe = await this.#subscription
    try {
      await unsubscribe?.()
    } catch (error) {
      this.#options.onDeaf(error)
    }
  }

  /** Never more claims than there are slots, and one after another: each has its answer before the next is asked for. */
  async #claim(): Promise<void> {
    const { freeSlots, onClaimed } = this.#options
    while (!this.#isStopped && freeSlots() > 0) {
      const claimed = await this.#ask()
      if (claimed === null) return
      onClaimed(claimed)
    }
  }

  async #ask(): Promise<ClaimedRun | null> {
    const { adapter, args, clock } = this.#options
    this.#askedAt = clock.now()
    try {
      const claimed = await adapter.claimNextQueuedRun(args)
      this.#hasFailed = false
      return claimed
    } catch (error) {
      this.#hasFailed = true
      throw error
    } finally {
      this.#askedAt = undefined
    }
  }

  async #subscribe(): Promise<(() => Promise<void>) | undefined> {
    const { adapter, args, onDeaf } = this.#options
    try {
      return await adapter.onQueued?.(args.runnerPool ?? null, () => this.wake())
    } catch (error) {
      onDeaf(error)
      return undefined
    }
  }
}
