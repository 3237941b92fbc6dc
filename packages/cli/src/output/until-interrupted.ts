import { EXIT_CODES } from './exit-codes.ts'

/** A wish from outside to end: Ctrl-C, or the signal of a process manager. */
export interface Interruption {
  readonly signal: AbortSignal
  /** Settles with the first interruption. */
  readonly ended: Promise<void>
  /** Stops listening. */
  release(): void
}

/** Listens for SIGINT and SIGTERM. The second one ends the process at once, in case tidying up hangs. */
export function untilInterrupted(): Interruption {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(EXIT_CODES.interrupted)
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    ended: new Promise((resolve) => controller.signal.addEventListener('abort', () => resolve(), { once: true })),
    release: () => {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
