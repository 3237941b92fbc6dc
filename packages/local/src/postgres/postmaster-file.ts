import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { processIdentity } from './process-identity.ts'

/** A running server, as its own pid file describes it. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly isReady: boolean
}

const FILE = 'postmaster.pid'

/** The server that runs on a data folder, if one does. A pid file that a crash left behind counts as none. */
export function readPostmaster(dataFolder: string): Postmaster | undefined {
  const lines = readLines(dataFolder)
  const pid = Number(lines?.[0])
  if (lines === undefined || processIdentity(pid) === undefined || !isServerOf(dataFolder, pid)) return undefined
  return { pid, port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' }
}

/**
 * Lets a server start although the id in a pid file that a crash left behind is now that of another process, as after a
 * reboot or in a container that was started again. The server takes every living process there for a server, but its own
 * parent: so the file is given the id of this process. What else stands in it, which finds what a killed server left of
 * itself, the server still looks at.
 */
export function disownPostmasterFile(dataFolder: string): void {
  const [pid, ...others] = readLines(dataFolder) ?? []
  if (processIdentity(Number(pid)) === undefined || isServerOf(dataFolder, Number(pid))) return
  fs.writeFileSync(path.join(dataFolder, FILE), [process.pid, ...others].join('\n'))
}

function readLines(dataFolder: string): string[] | undefined {
  try {
    return fs.readFileSync(path.join(dataFolder, FILE), 'utf8').split('\n')
  } catch {
    return undefined
  }
}

/** Another process with that id may be anything, and also the server of another folder. */
function isServerOf(dataFolder: string, pid: number): boolean {
  const command = commandOf(pid)
  return command.includes('postgres') && folderOf(pid, command) === realPath(dataFolder)
}

function commandOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    if (fs.existsSync('/proc')) return ''
    // -ww: whole, however wide a terminal is.
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
  }
}

/** The current folder of a server is its data folder, wherever it was moved. Else it is the one that it was launched with. */
function folderOf(pid: number, command: string): string | undefined {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // No /proc here, or a server of another user: a container's root may not look at that.
    const [, folder] = / -D (.+) -p \d+/.exec(command) ?? []
    return folder === undefined ? undefined : realPath(folder)
  }
}

function realPath(path: string): string | undefined {
  try {
    return fs.realpathSync(path)
  } catch {
    return undefined
  }
}
