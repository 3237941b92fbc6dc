import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { StarflowError } from '@starflow/errors'
import { processIdentity } from './process-identity.ts'

interface OwnerRecord {
  readonly pid: number
  readonly identity: string
  /** How the server was launched: one that was launched otherwise is not reused. */
  readonly launch: string
}

/** The right to run the server of a data folder. */
export interface DataFolderOwnership {
  /** The launch of the owner before, if it died without giving the folder back. */
  readonly previousLaunch: string | undefined
  release(): void
}

const OWNER_FILE = 'starflow-owner.json'

/**
 * Takes a data folder for this process. The owner is written down with the moment its process started, so that a parent
 * that was killed does not block the folder, nor does a later process with the same id.
 *
 * @throws StarflowError SF507 while another start of a live process, or of this one, has the folder
 */
export function takeDataFolder(dataFolder: string, launch: string): DataFolderOwnership {
  const file = path.join(dataFolder, OWNER_FILE)
  const record: OwnerRecord = { pid: process.pid, identity: processIdentity(process.pid) ?? '', launch }
  let previousLaunch: string | undefined
  while (!createFile(file, record)) {
    const owner = readOwner(file)
    if (owner === undefined) continue
    if (!isDead(owner)) throw inUse(dataFolder, owner.pid)
    previousLaunch = owner.launch
    removeDead(file, record)
  }
  return { previousLaunch, release: () => fs.rmSync(file, { force: true }) }
}

function createFile(file: string, record: OwnerRecord): boolean {
  // Written beside and linked into place: a reader never sees half a record.
  const draft = `${file}.${randomUUID()}`
  fs.writeFileSync(draft, JSON.stringify(record), { mode: 0o600 })
  try {
    fs.linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    fs.rmSync(draft, { force: true })
  }
}

/** Nobody where there is no such file; one that a failure of power left in half is that of a dead process. */
function readOwner(file: string): OwnerRecord | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as OwnerRecord
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : { pid: 0, identity: '', launch: '' }
  }
}

function isDead({ pid, identity }: OwnerRecord): boolean {
  return processIdentity(pid) !== identity
}

/**
 * Of several processes that find the same dead owner one at a time removes it, and looks again before: else a slow one would
 * remove the record of a fast one that has taken the folder meanwhile, and both would run its server.
 */
function removeDead(file: string, record: OwnerRecord): void {
  const removal = `${file}.removal`
  if (createFile(removal, record)) {
    try {
      removeIfDead(file)
    } finally {
      fs.rmSync(removal, { force: true })
    }
  } else {
    // Another one is at it, if it was not killed in these microseconds.
    removeIfDead(removal)
  }
}

function removeIfDead(file: string): void {
  const owner = readOwner(file)
  if (owner !== undefined && isDead(owner)) fs.rmSync(file, { force: true })
}

function inUse(dataFolder: string, pid: number): StarflowError {
  return new StarflowError({
    code: 'SF507',
    message: `The data folder ${dataFolder} is in use by process ${pid}.`,
    detail: 'One process at a time runs the server of a data folder.',
    hint: 'Stop that process, connect to its server, or name another folder.',
    fields: { dataDir: dataFolder, pid },
  })
}
