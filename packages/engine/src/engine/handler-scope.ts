import { AsyncLocalStorage } from 'node:async_hooks'

/** One attempt of a handler, and all that it has started: timers, promises and listeners, also those that outlive it. */
export interface HandlerScope {
  /** Something of it failed that nobody waits for: a promise without a `catch`, a timer or listener that throws. */
  onStray(error: unknown): void
}

const scopes = new AsyncLocalStorage<HandlerScope>()

/** Whatever is started in the work belongs to the scope. */
export function inHandlerScope<T>(scope: HandlerScope, work: () => T): T {
  return scopes.run(scope, work)
}

/**
 * Listens for failures of this process that nobody waits for, which would end it with all of its runs, and gives each to the handler
 * that caused it. Those of no handler go to `onUnknown`: what they have left behind nobody knows, so the process should end. For programs
 * that own their process. Returns what stops it.
 */
export function catchStrayFailures(onUnknown: (error: unknown) => void): () => void {
  const listener = (error: unknown) => {
    const scope = scopes.getStore()
    if (scope === undefined) onUnknown(error)
    else scope.onStray(error)
  }
  process.on('uncaughtException', listener)
  process.on('unhandledRejection', listener)
  return () => {
    process.off('uncaughtException', listener)
    process.off('unhandledRejection', listener)
  }
}
