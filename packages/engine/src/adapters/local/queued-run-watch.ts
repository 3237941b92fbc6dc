import { clearInterval, setInterval } from 'node:timers'
import type { StateDatabase } from './state-database.ts'

/** How often it is looked whether another process has written the file: a read of some bytes of shared memory. */
const LOOK_INTERVAL_MS = 100

/** Wakes when this connection has queued a run, and when another one has written anything at all. Returns what ends it. */
export function watchQueuedRuns(database: StateDatabase, wake: () => void): () => void {
  const stopListening = database.onQueued(wake)
  let seen = database.dataVersion()
  const timer = setInterval(() => {
    const version = database.dataVersion()
    if (version === seen) return
    seen = version
    wake()
  }, LOOK_INTERVAL_MS)
  // Whoever only listens does not keep the process alive.
  timer.unref()
  return () => {
    stopListening()
    clearInterval(timer)
  }
}
