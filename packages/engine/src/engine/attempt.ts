import { isNonRetryableError, type Json, retryDelaySeconds, toJsonText } from '@starflow/dsl'
import { describeError, isStarflowError, StarflowError } from '@starflow/errors'
import { inHandlerScope, strayFailure } from '@starflow/tracing'
import { TIMEOUT_GRACE_MS } from '../numbers.ts'
import type { RunFailure } from '../run-record.ts'
import type { Clock } from './clock.ts'

export type AttemptEnd =
  | { readonly ok: true; readonly output: Json }
  | {
      readonly ok: false
      readonly failure: RunFailure
      /** No further attempt can help. */
      readonly isPermanent: boolean
      /** When the handler wants the next one. */
      readonly delaySeconds: number | undefined
    }

export interface AttemptOptions {
  readonly stepSlug: string
  readonly timeoutSeconds: number | undefined
  readonly clock: Clock
  /** Aborted when the attempt is no longer wanted: its run or step has ended here. */
  readonly stopSignal: AbortSignal
  /** The handler, with its input; the signal is that of its context. */
  readonly invoke: (signal: AbortSignal) => unknown
  readonly onAbandoned: () => void
  /** Something that it has started failed, and nobody waits for it. `failsAttempt`: it had not ended before. */
  readonly onStray: (error: unknown, failsAttempt: boolean) => void
}

/**
 * Runs a handler once. Its signal is aborted at the timeout; what it returns or throws after that is the timeout's doing, and
 * after a grace the attempt ends without it. It ends as well with the failure of something that it started and does not wait for.
 * Never rejects.
 */
export async function runAttempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { clock, stopSignal, timeoutSeconds } = options
  const controller = new AbortController()
  let isOver = false
  let endWith = (_: AttemptEnd) => {}
  const strayEnd = new Promise<AttemptEnd>((resolve) => {
    endWith = resolve
  })
  const scope = {
    onStray(error: unknown) {
      const failsAttempt = !isOver
      isOver = true
      options.onStray(error, failsAttempt)
      if (!failsAttempt) return
      endWith(failed(error, strayFailure(`step "${options.stepSlug}"`, error)))
      abort(error)
    },
  }
  // Its listeners are the handler's.
  const abort = (reason: unknown) => inHandlerScope(scope, () => controller.abort(reason))
  const onStop = () => abort(stopSignal.reason)
  if (stopSignal.aborted) onStop()
  stopSignal.addEventListener('abort', onStop)

  let timeout: StarflowError | undefined
  let takeBack = () => {}
  const graceOver = new Promise<'abandoned'>((resolve) => {
    if (timeoutSeconds === undefined) return
    takeBack = clock.after(timeoutSeconds * 1000, () => {
      // The grace comes first: a listener of the signal that throws must not cost us it.
      takeBack = clock.after(TIMEOUT_GRACE_MS, () => resolve('abandoned'))
      timeout = timeoutError(options.stepSlug, timeoutSeconds)
      abort(timeout)
    })
  })
  const invoked = inHandlerScope(scope, () => invoke(options.invoke, controller.signal))
  const ended = await Promise.race([invoked, graceOver, strayEnd])
  isOver = true
  takeBack()
  stopSignal.removeEventListener('abort', onStop)

  if (ended === 'abandoned') options.onAbandoned()
  if (timeout !== undefined) return failed(timeout)
  return ended === 'abandoned' ? failed(new Error('An attempt is abandoned only after its timeout.')) : ended
}

/** Never lives on the handler's mercy: a thenable that throws is an end like any other. */
async function invoke(handler: (signal: AbortSignal) => unknown, signal: AbortSignal): Promise<AttemptEnd> {
  try {
    // A trip through JSON: what is kept is what the next step gets, and nobody holds a part of it.
    return { ok: true, output: JSON.parse(toJsonText(await handler(signal))) as Json }
  } catch (error) {
    return failed(error)
  }
}

function failed(thrown: unknown, failure = failureOf(thrown)): AttemptEnd {
  return {
    ok: false,
    failure,
    isPermanent: isNonRetryableError(thrown),
    delaySeconds: retryDelaySeconds(thrown),
  }
}

function failureOf(thrown: unknown): RunFailure {
  const described = describeError(thrown)
  return isStarflowError(thrown) ? { ...described, code: thrown.code } : described
}

function timeoutError(stepSlug: string, timeoutSeconds: number): StarflowError {
  return new StarflowError({
    code: 'SF407',
    message: `Step "${stepSlug}" did not end within its timeout of ${timeoutSeconds} s.`,
    detail: 'Its signal was aborted, and whatever it still returns is dropped.',
    hint: "Raise the step's timeout, or pass ctx.signal to what the handler waits for.",
    fields: { stepSlug, timeoutSeconds },
  })
}
