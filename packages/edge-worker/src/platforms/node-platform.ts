import { DEFAULT_DRAIN_TIMEOUT_MS } from '../numbers.ts'
import type { Platform } from '../platform.ts'
import { type NodeProcess, nodeProcess } from './node-globals.ts'

/** Exit codes of a process that a signal ended: 128 and the signal's number. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * A Node or Bun process. Its workers start by themselves and nobody pings them. The first SIGTERM or SIGINT drains them,
 * a second one ends the process at once.
 *
 * The process is the program's, not ours: when workers have ended it is left to end by itself, with exit code 0, or 1
 * where a worker could not start. Only after a signal that nobody else listens to is it ended here.
 */
export function nodePlatform(proc: NodeProcess | undefined = nodeProcess): Platform {
  if (proc === undefined) throw new Error('This is not Node.')
  const bootedAt = performance.now()
  // Loading the program is no task's.
  const usageAtBoot = proc.cpuUsage()
  const env = Object.freeze(
    Object.fromEntries(Object.entries(proc.env).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  )
  const { STARFLOW_DRAIN_TIMEOUT_MS, STARFLOW_FUNCTION_NAME } = env
  const { bun } = proc.versions
  const lifetimes = new Set<Promise<unknown>>()

  const settled = async (): Promise<void> => {
    // What is waited for may itself ask for more.
    while (lifetimes.size > 0) await Promise.allSettled(lifetimes)
  }

  return {
    name: bun === undefined ? 'node' : 'bun',
    startMode: 'process',
    env,
    wallClockMs: null,
    drainTimeoutMs: drainTimeout(STARFLOW_DRAIN_TIMEOUT_MS),
    ageMs: () => performance.now() - bootedAt,
    cpuMs: () => {
      const { user, system } = proc.cpuUsage(usageAtBoot)
      return (user + system) / MICROSECONDS_PER_MS
    },
    functionName: () => STARFLOW_FUNCTION_NAME || scriptName(proc.argv[1]),
    onShutdown: (listener) => {
      let isTold = false
      const onSignal = (signal: string) => {
        if (isTold) proc.exit(SIGNALS[signal as keyof typeof SIGNALS])
        isTold = true
        listener(signal)
        void settled().then(() => {
          for (const each of Object.keys(SIGNALS)) proc.off(each, onSignal)
          if (proc.listenerCount(signal) === 0) proc.exit(Number(proc.exitCode ?? 0))
        })
      }
      for (const signal of Object.keys(SIGNALS)) proc.on(signal, onSignal)
    },
    extendLifetime: (promise) => {
      lifetimes.add(promise)
      void promise.catch(() => {}).finally(() => lifetimes.delete(promise))
    },
    serve: () => {},
    cannotGoOn: () => {
      proc.exitCode = 1
    },
  }
}

const MICROSECONDS_PER_MS = 1000

/** `/app/mail-worker.ts` is known as `mail-worker`. */
function scriptName(path: string | undefined): string {
  const name =
    path
      ?.split(/[\\/]/)
      .at(-1)
      ?.replace(/\.[^.]+$/, '') ?? ''
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(name) ? name : 'process'
}

/** Anything but a number of milliseconds, 0 or more, means the default. */
function drainTimeout(text: string | undefined): number {
  const parsed = text === undefined || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(parsed) && parsed >= 0 ? parsed : DEFAULT_DRAIN_TIMEOUT_MS
}
