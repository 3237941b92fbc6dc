import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { StarflowError } from '@starflow/errors'

/** The ports of a local platform, all on this computer only. */
export interface PlatformPorts {
  readonly database: number
  readonly api: number
}

/**
 * Chooses the ports: the requested one where given (SF501 if it is taken), else the one used last time if it is free, else
 * any free one.
 */
export async function choosePorts(
  requested: Partial<PlatformPorts>,
  last: Partial<PlatformPorts>,
  /** Already serves the database, so that its port is taken by right. */
  databaseRunsOn?: number,
): Promise<PlatformPorts> {
  const database = requested.database ?? databaseRunsOn
  return {
    database:
      database !== undefined && database === databaseRunsOn
        ? database
        : await choosePort('database', requested.database, last.database),
    api: await choosePort('api', requested.api, last.api),
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

async function choosePort(purpose: string, requested: number | undefined, last: number | undefined): Promise<number> {
  if (requested !== undefined) {
    if (!(await isFree(requested))) throw portInUse(purpose, requested)
    return requested
  }
  return last !== undefined && (await isFree(last)) ? last : freePort()
}

function isFree(port: number): Promise<boolean> {
  return bind(port).then(
    () => true,
    () => false,
  )
}

function freePort(): Promise<number> {
  return bind(0)
}

function bind(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port))
    })
  })
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
