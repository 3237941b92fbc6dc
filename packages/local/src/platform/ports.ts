import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { StarflowError } from '@starflow/errors'

/** The ports of a local platform, all on this computer only. */
export interface PlatformPorts {
  readonly database: number
  readonly api: number
}

/** Throws SF501 if a requested port is taken, before anything is started. */
export async function refuseTakenPorts(requested: Partial<PlatformPorts>): Promise<void> {
  for (const [purpose, port] of Object.entries(requested)) {
    if (port !== undefined && !(await isPortFree(port))) throw portInUse(purpose, port)
  }
}

/** The ports that the platform of this folder had when it last started. */
export function lastPorts(file: string): Partial<PlatformPorts> {
  try {
    const { database, api } = JSON.parse(readFileSync(file, 'utf8')) as Partial<PlatformPorts>
    return { ...(isPort(database) ? { database } : {}), ...(isPort(api) ? { api } : {}) }
  } catch {
    return {}
  }
}

/** SF501, naming the process that listens where the system tells. */
export function portInUse(purpose: string, port: number): StarflowError {
  const user = listenerOf(port)
  return new StarflowError({
    code: 'SF501',
    message: `Port ${port} (${purpose}) is in use.`,
    detail:
      user === undefined ? 'The process that uses it is not known.' : `It is used by ${user.name} (pid ${user.pid}).`,
    hint: `End that process, or choose another port: ports.${purpose}, or leave it out to get a free one.`,
    fields: { port, purpose, ...user },
  })
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536
}

/** Linux only: the socket's inode from /proc/net/tcp, then the process that holds it. Only own processes are visible. */
function listenerOf(port: number): { pid: number; name: string } | undefined {
  try {
    const inode = listeningInode(port)
    if (inode === undefined) return undefined
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (!socketsOf(pid).includes(`socket:[${inode}]`)) continue
      return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() }
    }
  } catch {
    // No /proc here, or it changed under our eyes.
  }
  return undefined
}

function listeningInode(port: number): string | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n')) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
      if (local?.endsWith(`:${hex}`) === true && state === '0A') return inode
    }
  }
  return undefined
}

function socketsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}
