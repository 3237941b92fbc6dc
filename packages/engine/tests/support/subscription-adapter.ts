import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { overriddenAdapter } from './overridden-adapter.ts'

/**
 * A substrate that pushes: runs arrive through `onQueued`, and whoever does not listen gets none, however often it asks. It stands
 * for one that is still to be written, and shows that engine and runner need nothing of it but the port.
 */
export function subscriptionAdapter(inner: QueueingStateAdapter): QueueingStateAdapter {
  if (inner.onQueued === undefined) throw new Error('Only a substrate that wakes can push.')
  const { onQueued } = inner
  let listeners = 0
  let hasArrived = false
  const timers = new Set<NodeJS.Timeout>()
  const wakes = new Set<() => void>()
  const push = () => {
    if (listeners === 0) return
    hasArrived = true
    for (const wake of wakes) wake()
  }
  /** What is queued for later arrives when it is due. */
  const pushAfter = (delayMs: number) => {
    if (delayMs <= 0) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      push()
    }, delayMs)
    timer.unref()
    timers.add(timer)
  }
  return overriddenAdapter(inner, {
    bind: (claim) =>
      overriddenAdapter(inner.bind(claim), {
        releaseRun: async (runId, release) => {
          await inner.bind(claim).releaseRun(runId, release)
          pushAfter(release.delayMs)
        },
      }),
    async enqueueRun(spec) {
      const answer = await inner.enqueueRun(spec)
      pushAfter(spec.delayMs ?? 0)
      return answer
    },
    async claimNextQueuedRun(args) {
      if (!hasArrived) return null
      const claimed = await inner.claimNextQueuedRun(args)
      if (claimed === null) hasArrived = false
      return claimed
    },
    async onQueued(runnerPool, wake) {
      listeners++
      wakes.add(wake)
      const stop = await onQueued.call(inner, runnerPool, push)
      // What is in the queue already arrives with the subscription.
      push()
      return async () => {
        listeners--
        wakes.delete(wake)
        await stop()
      }
    },
    async close() {
      for (const timer of timers) clearTimeout(timer)
      await inner.close()
    },
  })
}
