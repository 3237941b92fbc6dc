import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PostgresBinaries } from './binaries.ts'

/** An installation of Postgres that has our extensions beside its own. */
export interface PostgresOverlay {
  readonly folder: string
  /** Full path of one of its programs. */
  program(name: 'initdb' | 'postgres'): string
}

const EXTENSIONS_FOLDER = fileURLToPath(new URL('../../extensions', import.meta.url))
const EXTENSIONS = ['pgmq', 'pg_cron', 'pg_net', 'supabase_vault']

/**
 * Makes, or finds in `cacheFolder`, a private installation: `bin` copied, libraries and share linked, our extensions
 * added. Postgres finds its share folder from where its real executable lies, so `bin` has to be a copy: a link would
 * lead back to the package, where nothing of ours should be written.
 *
 * The folder's name is a hash of everything in it: a changed extension gets a new installation, and a finished one is
 * never written again. Several processes may ask at once.
 */
export function prepareOverlay(binaries: PostgresBinaries, cacheFolder: string, pgmqFile?: string): PostgresOverlay {
  const files = extensionFiles(pgmqFile)
  const folder = path.join(cacheFolder, `postgres-${binaries.version}-${fingerprint(binaries, files)}`)
  if (!fs.existsSync(folder)) {
    const draft = path.join(cacheFolder, `.draft-${randomUUID()}`)
    try {
      fs.mkdirSync(draft, { recursive: true })
      copyPrograms(binaries, draft)
      linkLibraries(binaries, draft)
      linkShare(binaries, draft, files)
      publish(draft, folder)
    } finally {
      fs.rmSync(draft, { recursive: true, force: true })
    }
  }
  return { folder, program: (name) => path.join(folder, 'bin', name) }
}

/** A file of an installation: its name there, and its text. */
interface ExtensionFile {
  readonly name: string
  readonly text: string
}

function extensionFiles(pgmqFile?: string): ExtensionFile[] {
  return EXTENSIONS.flatMap((name) => {
    const folder = path.join(EXTENSIONS_FOLDER, name)
    return fs
      .readdirSync(folder)
      .filter((file) => /\.(control|sql)$/.test(file))
      .sort()
      .map((file) => {
        const text = fs.readFileSync(path.join(folder, file), 'utf8')
        const isReplaced = pgmqFile !== undefined && name === 'pgmq' && file.endsWith('.sql')
        return { name: file, text: isReplaced ? fs.readFileSync(pgmqFile, 'utf8') + ownership(text) : text }
      })
  })
}

/** The end of our script, which gives a trusted extension's objects to the role that asked for it, as hosted Supabase does. */
function ownership(script: string): string {
  return `\n${script.slice(script.indexOf("-- A trusted extension's objects"))}`
}

function fingerprint(binaries: PostgresBinaries, files: readonly ExtensionFile[]): string {
  // The links are absolute, so a package that moved needs a new overlay.
  const hash = createHash('sha256').update(`overlay 1\0${fs.realpathSync(binaries.folder)}\0`)
  for (const { name, text } of files) hash.update(`${name}\0`).update(text)
  return hash.digest('hex').slice(0, 12)
}

function copyPrograms(binaries: PostgresBinaries, draft: string): void {
  fs.mkdirSync(path.join(draft, 'bin'))
  for (const program of ['initdb', 'pg_ctl', 'postgres']) {
    const to = path.join(draft, 'bin', program)
    fs.copyFileSync(path.join(binaries.folder, 'bin', program), to, fs.constants.COPYFILE_FICLONE)
    fs.chmodSync(to, 0o755)
  }
}

/**
 * npm packs no symbolic links, so the package carries a list of those its libraries need (`libpq.so.5`). Its install
 * script makes them where scripts may run. Making them here as well is harmless; where the package is read-only the
 * libraries are copied instead.
 */
function linkLibraries(binaries: PostgresBinaries, draft: string): void {
  const from = path.join(binaries.folder, 'lib')
  const to = path.join(draft, 'lib')
  try {
    makeLibraryLinks(binaries, from)
    fs.symlinkSync(from, to)
  } catch (error) {
    if (!isCode(error, 'EACCES', 'EROFS', 'EPERM')) throw error
    fs.cpSync(from, to, { recursive: true })
    makeLibraryLinks(binaries, to)
  }
}

function makeLibraryLinks(binaries: PostgresBinaries, lib: string): void {
  const list = path.join(binaries.folder, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return
  const links = JSON.parse(fs.readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = path.join(lib, path.relative('native/lib', target))
    if (fs.existsSync(link)) continue
    try {
      fs.symlinkSync(path.basename(source), link)
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
    }
  }
}

function linkShare(binaries: PostgresBinaries, draft: string, files: readonly ExtensionFile[]): void {
  const from = path.join(binaries.folder, 'share', 'postgresql')
  const to = path.join(draft, 'share', 'postgresql')
  fs.mkdirSync(path.join(to, 'extension'), { recursive: true })
  for (const name of fs.readdirSync(from)) {
    if (name !== 'extension') fs.symlinkSync(path.join(from, name), path.join(to, name))
  }
  for (const name of fs.readdirSync(path.join(from, 'extension'))) {
    fs.symlinkSync(path.join(from, 'extension', name), path.join(to, 'extension', name))
  }
  for (const { name, text } of files) {
    const copy = path.join(to, 'extension', name)
    fs.writeFileSync(copy, text)
    fs.chmodSync(copy, 0o644)
  }
}

function publish(draft: string, folder: string): void {
  try {
    fs.renameSync(draft, folder)
  } catch (error) {
    // Another process was faster: its folder has the same content.
    if (!isCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  }
}

function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '')
}
