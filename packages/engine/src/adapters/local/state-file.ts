import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'libsql'
import { APPLICATION_ID, MIGRATIONS } from './schema.ts'
import { StateFileError, stateFileError } from './state-file-error.ts'

/**
 * What an answered write outlives: a power failure, or only the crash of the process, which is some ten times as fast since
 * nothing waits for the disk. Either way the file is whole.
 */
export type Durability = 'power_failure' | 'process_crash'

/**
 * How long a write waits for another process's transaction, which lasts some milliseconds. What waits for longer is refused, so
 * that a request has an answer; writes of a run are tried again.
 */
export const BUSY_TIMEOUT_MS = 5000
export const RETRY_MS = 5
/** SQLite waits in the one thread that there is; so it waits for this long, and the rest is waited for without holding the thread. */
const SHORT_BUSY_TIMEOUT_MS = 20

/**
 * Opens a state file, makes it where there is none, and brings its tables up to date. Several processes may do so at the
 * same time.
 *
 * @throws StateFileError SF821
 */
export function openStateFile(path: string, durability: Durability): Database.Database {
  try {
    if (path !== ':memory:') makeFile(path)
    const database = new Database(path, { timeout: BUSY_TIMEOUT_MS })
    try {
      // First it is looked what the file is: nothing is changed in one that is not ours.
      const version = versionOf(database, path)
      configure(database, durability)
      if (version < MIGRATIONS.length) bringUpToDate(database, path)
      database.pragma(`busy_timeout = ${SHORT_BUSY_TIMEOUT_MS}`)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw stateFileError(path, error)
  }
}

/**
 * Brings what was written into the file itself, so that it can be copied alone. libsql keeps its handles until its statements are
 * collected, and with them the side files.
 */
export function closeStateFile(database: Database.Database): void {
  try {
    database.pragma('wal_checkpoint(passive)')
  } catch {
    // Nothing is lost: whoever opens the file next reads the side file.
  }
  database.close()
}

/** Readable for its owner only, as inputs and outputs may be anybody's business. SQLite gives its side files the same mode. */
function makeFile(path: string): void {
  makeFolder(dirname(resolve(path)))
  const existing = statSync(path, { throwIfNoEntry: false })
  // Opening a pipe waits for whoever is at its other end.
  if (existing !== undefined && !existing.isFile() && !existing.isDirectory()) throw noFile(path)
  closeSync(openSync(path, 'a', 0o600))
}

/** One by one: Node's recursive way goes round for ever where a folder takes none, as below /proc. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error
  }
}

function noFile(path: string): StateFileError {
  return new StateFileError({
    path,
    reason: 'it is no file',
    detail: 'A pipe, a socket or a device stands there.',
    hint: 'Name another file in STARFLOW_SQLITE_PATH.',
  })
}

function configure(database: Database.Database, durability: Durability): void {
  switchToWal(database)
  database.pragma(`synchronous = ${durability === 'power_failure' ? 'full' : 'normal'}`)
  database.pragma('foreign_keys = on')
}

/**
 * Then readers and one writer at a time do not disturb each other. SQLite does not wait by itself to switch a new file while
 * another process makes it too.
 */
function switchToWal(database: Database.Database): void {
  const refusedAt = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      database.pragma('journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > refusedAt) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
  }
}

export function isBusy(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')
}

function bringUpToDate(database: Database.Database, path: string): void {
  database.exec('begin immediate')
  try {
    // Another process may have done it meanwhile.
    for (const migration of MIGRATIONS.slice(versionOf(database, path))) database.exec(migration)
    database.pragma(`application_id = ${APPLICATION_ID}`)
    database.pragma(`user_version = ${MIGRATIONS.length}`)
    database.exec('commit')
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}

/** How many migrations the file has had; 0 for an empty one. */
function versionOf(database: Database.Database, path: string): number {
  const { applicationId, version, objects } = traitsOf(database)
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || version !== 0 || objects > 0)) {
    throw new StateFileError({
      path,
      reason: 'it is the database of another application',
      detail: `Its application id is ${applicationId}, that of a state file is ${APPLICATION_ID}.`,
      hint: 'Name another file in STARFLOW_SQLITE_PATH.',
    })
  }
  if (version > MIGRATIONS.length) {
    throw new StateFileError({
      path,
      reason: 'a newer version of Starflow has written it',
      detail: `Its tables have version ${version}; this code knows them up to version ${MIGRATIONS.length}.`,
      hint: 'Use the version of Starflow that wrote it, or a later one.',
    })
  }
  return version
}

interface Traits {
  readonly applicationId: number
  readonly version: number
  readonly objects: number
}

/** By one statement, which sees one moment: another process that makes the same file is not met half-way. */
function traitsOf(database: Database.Database): Traits {
  return database
    .prepare(
      `select application_id as applicationId, user_version as version, (select count(*) from sqlite_schema) as objects
       from pragma_application_id, pragma_user_version`,
    )
    .get() as Traits
}
