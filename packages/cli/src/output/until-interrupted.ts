import { onClosedPipe } from './closed-pipe.ts'
import { EXIT_CODES } from './exit-codes.ts'

/** A wish from outside to end: Ctrl-C, the signal of a process manager, a terminal or a pipe that was closed. */
export interface Interruption {
  readonly signal: AbortSignal
  /** Settles with the first interruption. */
  readonly ended: Promise<void>
  /** Stops listening. */
  release(): void
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** A terminal sends Ctrl-C to npm and to us, and npm passes it on: what comes this soon is the same wish once more. */
const SAME_WISH_MS = 500
const PARENT_CHECK_MS = 500

/**
 * Listens for SIGINT, SIGTERM and SIGHUP, for an output that nobody reads any longer, and for the end of the npm that runs
 * us. The second wish ends the process at once, in case tidying up hangs; child processes are then ended by the guards of
 * `@starflow/local`.
 *
 * @param isSilent says nothing on standard error: for what logs by itself
 * @param outlivesReader a closed output is not a wish to end: for what serves others, and only logs
 */
export function untilInterrupted({
  isSilent = false,
  outlivesReader = false,
}: {
  readonly isSilent?: boolean
  readonly outlivesReader?: boolean
} = {}): Interruption {
  const controller = new AbortController()
  let abortedAt = 0
  const onSignal = () => {
    if (!controller.signal.aborted) {
      abortedAt = Date.now()
      if (!isSilent) process.stderr.write('Stopping … (Ctrl-C again to force)\n')
      controller.abort()
    } else if (Date.now() - abortedAt >= SAME_WISH_MS) {
      process.exit(EXIT_CODES.interrupted)
    }
  }
  const onGone = () => {
    abortedAt ||= Date.now()
    controller.abort()
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  const stopListening = [...(outlivesReader ? [] : [onClosedPipe(onGone)]), onOrphaned(onGone)]
  return {
    signal: controller.signal,
    ended: new Promise((resolve) => controller.signal.addEventListener('abort', () => resolve(), { once: true })),
    release: () => {
      // After a wish the process is about to end by itself: a second signal must not meet Node's default, which would end
      // it before its exit code is set.
      if (!controller.signal.aborted) for (const name of SIGNALS) process.off(name, onSignal)
      for (const stop of stopListening) stop()
    },
  }
}

/** npm starts us in a shell that does not pass signals on. When it is gone, npm was told to end, and we are meant too. */
function onOrphaned(tell: () => void): () => void {
  if (process.env.npm_command === undefined) return () => {}
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid !== parent) tell()
  }, PARENT_CHECK_MS).unref()
  return () => clearInterval(timer)
}
