import fs from 'node:fs'
import path from 'node:path'
import { processIdentity } from './process-identity.ts'

/** A running server, as its own pid file describes it. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly isReady: boolean
}

/** The server that runs on a data folder, if one does. A pid file that a crash left behind counts as none. */
export function readPostmaster(dataFolder: string): Postmaster | undefined {
  let lines: string[]
  try {
    lines = fs.readFileSync(path.join(dataFolder, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return undefined
  }
  const pid = Number(lines[0])
  if (processIdentity(pid) === undefined || !isPostgres(pid)) return undefined
  return { pid, port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' }
}

// After a reboot the id in a stale file may belong to anything. Elsewhere than on Linux the server itself checks.
function isPostgres(pid: number): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres')
  } catch {
    return !fs.existsSync('/proc')
  }
}
