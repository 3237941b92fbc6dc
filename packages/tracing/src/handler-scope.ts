import { AsyncLocalStorage } from 'node:async_hooks'
import { describeError } from '@starflow/errors'

/** One attempt of a handler, and all that it has started: timers, promises and listeners, also those that outlive it. */
export interface HandlerScope {
  /** Something of it failed that no code waits for: a promise without a `catch`, a timer or listener that throws. */
  onStray(error: unknown): void
}

const STRAY_HINT = 'Await what the handler starts, or catch its failure where it is started.'

const scopes = new AsyncLocalStorage<HandlerScope>()

/** Whatever is started in the work belongs to the scope. */
export function inHandlerScope<T>(scope: HandlerScope, work: () => T): T {
  return scopes.run(scope, work)
}

/**
 * Listens for failures that no code waits for, which would end this process or isolate with all of its runs, and gives each to the
 * handler that caused it. Those of no handler go to `onUnknown`; Deno does not say of which handler a timer is that throws. For
 * programs that own their process. Returns what stops it.
 */
export function catchStrayFailures(onUnknown: (error: unknown) => void): () => void {
  const give = (error: unknown) => {
    const scope = scopes.getStore()
    if (scope === undefined) onUnknown(error)
    else scope.onStray(error)
  }
  if (!('Deno' in globalThis)) {
    process.on('uncaughtException', give)
    process.on('unhandledRejection', give)
    return () => {
      process.off('uncaughtException', give)
      process.off('unhandledRejection', give)
    }
  }
  const { addEventListener, removeEventListener } = globalThis as unknown as StrayEvents
  const onEvent = (event: StrayEvent) => {
    event.preventDefault()
    give(event.type === 'error' ? event.error : event.reason)
  }
  addEventListener('error', onEvent)
  addEventListener('unhandledrejection', onEvent)
  return () => {
    removeEventListener('error', onEvent)
    removeEventListener('unhandledrejection', onEvent)
  }
}

/**
 * How an attempt of a handler fails by something that it has started: as `SF819`, with the stack of what failed, which says where it
 * was started. `handler`: `step "work"`.
 */
export function strayFailure(handler: string, error: unknown) {
  const { message, stack } = describeError(error)
  return {
    name: 'StrayFailureError',
    code: 'SF819',
    message: `Something that ${handler} started failed, and nobody waited for it: ${message}. Hint: ${STRAY_HINT}`,
    ...(stack === undefined ? {} : { stack }),
  } as const
}

/** What a log says of it: the place in the code, since the message is the author's and may say anything. */
export function strayLog(error: unknown) {
  const { name, stack } = describeError(error)
  const innermost = stack?.split('\n').find((line) => /^\s+at /.test(line))
  const at = innermost?.trim().slice('at '.length) ?? 'a place that is not known'
  return { code: 'SF819', errorName: name, at, hint: STRAY_HINT } as const
}

/** An event of the web: Deno has no other way that holds in an isolate too. */
interface StrayEvent {
  readonly type: string
  readonly error?: unknown
  readonly reason?: unknown
  preventDefault(): void
}

interface StrayEvents {
  addEventListener(type: string, listener: (event: StrayEvent) => void): void
  removeEventListener(type: string, listener: (event: StrayEvent) => void): void
}
