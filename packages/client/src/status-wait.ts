import type { StarflowError } from '@starflow/errors'

export interface WaitOptions {
  /** Without it the wait ends with the run, whenever that is. */
  readonly timeoutMs?: number
  /** Ends the wait, with the signal's reason. */
  readonly signal?: AbortSignal
}

/** How a wait stands: `reached`, or why it never will be; undefined while nobody knows. */
export type WaitOutcome = 'reached' | StarflowError | undefined

/** What is waited for, and who tells of changes. */
export interface WaitSubject {
  /** Looks at what is known now. */
  readonly judge: () => WaitOutcome
  readonly timeoutError: (timeoutMs: number) => StarflowError
  /** Calls whenever something may have changed, or with the error that ends everything; gives what ends that. */
  readonly observe: (look: (end?: unknown) => void) => () => void
}

/** `setTimeout` takes more for 1 ms. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** Settles when the outcome is known, the time is over, or the signal is aborted. Leaves no timer and no listener behind. */
export function waitForOutcome(
  { judge, timeoutError, observe }: WaitSubject,
  options: WaitOptions = {},
): Promise<void> {
  const { timeoutMs, signal } = options
  return new Promise<void>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    let timer: ReturnType<typeof setTimeout> | undefined
    let stopObserving: (() => void) | undefined
    let isOver = false
    const end = (settle: () => void) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      stopObserving?.()
      settle()
    }
    const onAbort = () => end(() => reject(signal?.reason))
    const look = () => {
      const outcome = judge()
      if (outcome === 'reached') end(resolve)
      else if (outcome !== undefined) end(() => reject(outcome))
    }
    look()
    if (isOver) return
    if (timeoutMs !== undefined) {
      timer = setTimeout(() => end(() => reject(timeoutError(timeoutMs))), Math.min(timeoutMs, MAX_TIMEOUT_MS))
    }
    signal?.addEventListener('abort', onAbort)
    stopObserving = observe((error) => (error === undefined ? look() : end(() => reject(error))))
    if (isOver) stopObserving()
  })
}
