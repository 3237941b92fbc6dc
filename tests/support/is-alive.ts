import { existsSync, readFileSync } from 'node:fs'

/** True while a process of this id runs; one that ended and waits to be collected by its parent does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync(`/proc/${pid}/stat`) || !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
