import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { StarflowError } from '@starflow/errors'
import { makeFolder } from '../platform/make-folder.ts'
import { killAtExit } from '../processes/end-at-exit.ts'
import { type PostgresMajor, unsupportedPlatform } from './binaries.ts'
import type { PostgresOverlay } from './overlay.ts'
import { hasServerSecrets, newServerSecrets, writeServerSecrets } from './server-secrets.ts'
import type { ServerUser } from './server-user.ts'

/** No living process takes as long to make one, or to delete it. */
const LEFT_AFTER_MS = 3_600_000

/**
 * Makes a data folder unless there is one of this major version already. It is made beside its place and moved there
 * when it is complete, with its secrets: a process that dies half-way leaves no folder that looks like one.
 *
 * @throws StarflowError SF502 for a folder of another version, SF503 when initdb fails, SF506 for a folder of others
 */
export async function ensureDataFolder(
  dataFolder: string,
  major: PostgresMajor,
  server: { overlay: PostgresOverlay; user: ServerUser; sync: boolean },
): Promise<void> {
  removeRemains(dataFolder)
  if (isReady(dataFolder, major)) return
  makeFolder(path.dirname(dataFolder))
  const draft = besides(dataFolder, 'draft')
  const passwordFile = `${draft}.password`
  try {
    const secrets = newServerSecrets()
    fs.mkdirSync(draft, { mode: 0o700 })
    fs.writeFileSync(passwordFile, secrets.supabase_admin, { mode: 0o600, flag: 'wx' })
    for (const target of [draft, passwordFile]) server.user.own(target)
    await initialize(draft, passwordFile, major, server)
    server.user.own(writeServerSecrets(draft, secrets))
    moveIntoPlace(draft, dataFolder, major)
  } finally {
    fs.rmSync(passwordFile, { force: true })
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

/** Deletes one with the word of its owner in it. It is gone at once: nobody meets half of it. */
export function deleteDataFolder(dataFolder: string): void {
  const remains = besides(dataFolder, 'deleted')
  fs.utimesSync(dataFolder, new Date(), new Date())
  fs.renameSync(dataFolder, remains)
  fs.rmSync(remains, { recursive: true, force: true })
}

function besides(dataFolder: string, what: 'draft' | 'deleted'): string {
  return path.join(path.dirname(dataFolder), `.${path.basename(dataFolder)}-${what}-${randomUUID()}`)
}

/** What a process left beside it that was killed while it made or deleted one: each may be as large as a database. */
function removeRemains(dataFolder: string): void {
  const parent = path.dirname(dataFolder)
  if (!fs.existsSync(parent)) return
  const prefixes = ['draft', 'deleted'].map((what) => `.${path.basename(dataFolder)}-${what}-`)
  for (const name of fs.readdirSync(parent).filter((each) => prefixes.some((prefix) => each.startsWith(prefix)))) {
    const remains = path.join(parent, name)
    const touchedAt = fs.statSync(remains, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - touchedAt > LEFT_AFTER_MS) fs.rmSync(remains, { recursive: true, force: true })
  }
}

/** False when the folder has yet to be made; refuses one that cannot be used. */
function isReady(dataFolder: string, major: PostgresMajor): boolean {
  if (!fs.existsSync(dataFolder) || fs.readdirSync(dataFolder).length === 0) return false
  const versionFile = path.join(dataFolder, 'PG_VERSION')
  if (!fs.existsSync(versionFile)) throw foreignFolder(dataFolder, 'It is not empty and holds no Postgres database.')
  const found = fs.readFileSync(versionFile, 'utf8').trim()
  if (found !== String(major)) throw otherVersion(dataFolder, found, major)
  if (!hasServerSecrets(dataFolder)) {
    throw foreignFolder(dataFolder, 'It holds a Postgres database that Starflow did not make: its password is unknown.')
  }
  return true
}

function moveIntoPlace(draft: string, dataFolder: string, major: PostgresMajor): void {
  try {
    fs.renameSync(draft, dataFolder)
  } catch (error) {
    // Somebody else made it meanwhile: then theirs is used, if it fits.
    if (!isReady(dataFolder, major)) throw error
  }
}

function initialize(
  draft: string,
  passwordFile: string,
  major: PostgresMajor,
  { overlay, user, sync }: { overlay: PostgresOverlay; user: ServerUser; sync: boolean },
): Promise<void> {
  const args = ['-D', draft, '-U', 'supabase_admin', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  // The builtin provider sorts and lower-cases the same on every system; before 17 only plain C does.
  args.push(
    '-E',
    'UTF8',
    '--locale=C',
    ...(major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
  )
  args.push('--no-instructions', ...(sync ? [] : ['--no-sync']))
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
    const child = user.spawn(overlay.program('initdb'), args, { stdio: ['ignore', 'ignore', 'pipe'], env })
    // It removes its half-made folder when it is told to end.
    const letGo = killAtExit(child.pid, 'SIGTERM')
    let output = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.once('error', (error: NodeJS.ErrnoException) => {
      // A program that is there and yet is not found has no loader on this system: musl instead of glibc.
      const isLoaderMissing = error.code === 'ENOENT' && fs.existsSync(overlay.program('initdb'))
      if (isLoaderMissing) return reject(unsupportedPlatform(`${process.platform}-${process.arch}`, error))
      reject(
        new StarflowError({
          code: 'SF503',
          message: 'Postgres did not start: its initdb cannot be run.',
          detail: error.message,
          hint: `The user that runs Postgres must be able to enter the folders above ${draft} and ${overlay.folder}.`,
          cause: error,
        }),
      )
    })
    child.once('close', (code) => {
      letGo()
      if (code === 0) return resolve()
      reject(
        new StarflowError({
          code: 'SF503',
          message: `Postgres did not start: initdb could not make a data folder (exit code ${code}).`,
          detail: output.trim().split('\n').slice(-10).join('\n'),
          hint: 'Check that the folder can be written and that the disk has 100 MB left.',
          fields: { exitCode: code },
        }),
      )
    })
  })
}

function otherVersion(dataFolder: string, found: string, major: PostgresMajor): StarflowError {
  return new StarflowError({
    code: 'SF502',
    message: `The data folder ${dataFolder} is of Postgres ${found}, not ${major}.`,
    detail: 'A data folder can only be opened by the major version that made it.',
    hint: `Start Postgres ${found} on it, name another folder, or delete this one if its data is not needed.`,
    fields: { dataDir: dataFolder, found, wanted: major },
  })
}

function foreignFolder(dataFolder: string, detail: string): StarflowError {
  return new StarflowError({
    code: 'SF506',
    message: `The folder ${dataFolder} cannot be used as a data folder.`,
    detail,
    hint: 'Name a folder that does not exist yet.',
    fields: { dataDir: dataFolder },
  })
}
