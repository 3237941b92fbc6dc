import type { QueueingStateAdapter } from '../../src/state-adapter.ts'

export interface QueueListener {
  /** How often it was woken. */
  readonly wakes: number
  /** Resolves with the first wake since it was asked for the last time. */
  woken(): Promise<void>
  stop(): Promise<void>
}

/** Listens to a queue that wakes; `onQueued` is there. */
export async function listenTo(adapter: QueueingStateAdapter): Promise<QueueListener> {
  let wakes = 0
  let seen = 0
  let notice = () => {}
  const stop = await adapter.onQueued!(null, () => {
    wakes++
    notice()
  })
  return {
    get wakes() {
      return wakes
    },
    async woken() {
      if (wakes === seen) await new Promise<void>((resolve) => (notice = resolve))
      seen = wakes
    },
    stop,
  }
}
