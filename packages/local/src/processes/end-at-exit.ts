import { processIdentity } from '../postgres/process-identity.ts'

const endings = new Set<() => void>()

/** Sends a signal at exit, to a process that may be gone by then. */
export function killAtExit(pid: number | undefined, signal: NodeJS.Signals): () => void {
  const identity = pid === undefined ? undefined : processIdentity(pid)
  if (pid === undefined || identity === undefined) return () => {}
  return endAtExit(() => {
    if (processIdentity(pid) === identity) process.kill(pid, signal)
  })
}

/**
 * Calls `end` when this process exits while the registration stands: by `process.exit`, or by an error that nobody caught.
 * It is the last guard for child processes that outlive their parent; what is stopped in good order is let go before. `end`
 * runs synchronously and may not throw past it. Nothing helps against SIGKILL: the next start takes over what is left then.
 *
 * @returns lets go; twice is fine
 */
function endAtExit(end: () => void): () => void {
  if (endings.size === 0) process.on('exit', endAll)
  endings.add(end)
  return () => {
    endings.delete(end)
    if (endings.size === 0) process.off('exit', endAll)
  }
}

function endAll(): void {
  for (const end of endings) {
    try {
      end()
    } catch {
      // One that is gone already keeps no other from being ended.
    }
  }
}
