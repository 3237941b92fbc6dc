import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { StarflowError } from '@starflow/errors'
import type { DocumentInput } from '../../../../functions/_flows/readme-index/document.ts'
import { printable } from './printable.ts'

/** Documents above this size, in bytes, are skipped: a handler must stay far below the CPU limit of an edge function. */
export const MAX_DOCUMENT_BYTES = 200_000

/** A longer list of files is cut, and marked as not complete. It is stored with every run. */
export const MAX_LISTED_FILES = 1_000

const README = /^readme\.(md|markdown)$/i
/** How many skipped files are named. */
const MAX_NAMED = 3

const MARKDOWN = /\.(md|markdown)$/i

export interface SkippedDocument {
  /** Relative to the folder that was searched. */
  readonly path: string
  readonly reason: 'not UTF-8' | 'too large' | 'unreadable'
}

export interface Collection {
  readonly documents: readonly DocumentInput[]
  readonly skipped: readonly SkippedDocument[]
}

/**
 * The README of every package installed under a `node_modules` folder, nested ones too, in the order of their names.
 * Linked packages (workspaces) are left out, and a version that is installed twice is taken once.
 *
 * @throws StarflowError SF601 when the folder cannot be read, SF602 when it holds no README
 */
export async function collectPackageReadmes(
  nodeModules: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<Collection> {
  const root = resolve(nodeModules)
  const packages = await findPackages(root)
  const seen = new Set<string>()
  return collect(root, limit, NO_PACKAGES, async function* () {
    for (const directory of packages) {
      const readme = (await namesIn(directory)).find((name) => README.test(name))
      if (readme === undefined) continue
      const { name, version } = await readManifest(directory)
      const key = `${name}@${version}`
      if (seen.has(key)) continue
      seen.add(key)
      yield { package: name, version, path: readme, file: join(directory, readme), files: () => listFiles(directory) }
    }
  })
}

/**
 * Every Markdown file of a folder and its subfolders, but for `node_modules` and `.git`.
 *
 * @throws StarflowError SF601 when the folder cannot be read, SF602 when it holds no Markdown
 */
export async function collectFolder(folder: string, limit = Number.POSITIVE_INFINITY): Promise<Collection> {
  const root = resolve(folder)
  await assertReadableFolder(root)
  const all = await walk(root)
  const files = { files: all.slice(0, MAX_LISTED_FILES), filesComplete: all.length <= MAX_LISTED_FILES }
  return collect(root, limit, NO_MARKDOWN, async function* () {
    for (const path of all) {
      if (MARKDOWN.test(path)) yield { package: basename(root), path, file: join(root, path), files: async () => files }
    }
  })
}

const NO_PACKAGES = 'Run `npm ci` first, or name a folder of Markdown files with --docs.'
const NO_MARKDOWN = 'Name a folder that holds files ending in .md or .markdown, in subfolders too.'

interface Candidate {
  readonly package: string
  readonly version?: string | undefined
  readonly path: string
  readonly file: string
  files(): Promise<Pick<DocumentInput, 'files' | 'filesComplete'>>
}

async function collect(
  root: string,
  limit: number,
  hint: string,
  candidates: () => AsyncIterable<Candidate>,
): Promise<Collection> {
  const documents: DocumentInput[] = []
  const skipped: SkippedDocument[] = []
  for await (const candidate of candidates()) {
    if (documents.length >= limit) break
    const markdown = await readMarkdown(candidate.file)
    if ('reason' in markdown) {
      skipped.push({ path: toPosix(relative(root, candidate.file)), reason: markdown.reason })
      continue
    }
    documents.push({
      package: candidate.package,
      ...(candidate.version === undefined ? {} : { version: candidate.version }),
      path: candidate.path,
      markdown: markdown.text,
      ...(await candidate.files()),
    })
  }
  if (documents.length === 0) {
    throw new StarflowError({
      code: 'SF602',
      message: `There is no document to index in ${root}.`,
      detail: skipped.length === 0 ? undefined : describeSkipped(skipped),
      hint,
      fields: { folder: root, skipped: skipped.length },
    })
  }
  return { documents, skipped }
}

/** For example: `2 documents were skipped: 1 over 200 KB (guide/big.md), 1 not UTF-8 (old.md)`. */
export function describeSkipped(skipped: readonly SkippedDocument[]): string {
  const paths = new Map<SkippedDocument['reason'], string[]>()
  for (const { reason, path } of skipped) paths.set(reason, [...(paths.get(reason) ?? []), printable(path)])
  const reasons = [...paths]
    .map(([reason, all]) => {
      const named = all.slice(0, MAX_NAMED).join(', ')
      return `${all.length} ${REASONS[reason]} (${named}${all.length > MAX_NAMED ? ', …' : ''})`
    })
    .join(', ')
  return `${skipped.length} document${skipped.length === 1 ? ' was' : 's were'} skipped: ${reasons}`
}

const REASONS: Readonly<Record<SkippedDocument['reason'], string>> = {
  'too large': `over ${MAX_DOCUMENT_BYTES / 1_000} KB`,
  'not UTF-8': 'not UTF-8',
  unreadable: 'unreadable',
}

async function readMarkdown(file: string): Promise<{ text: string } | { reason: SkippedDocument['reason'] }> {
  let bytes: Buffer
  try {
    if ((await stat(file)).size > MAX_DOCUMENT_BYTES) return { reason: 'too large' }
    bytes = await readFile(file)
  } catch {
    return { reason: 'unreadable' }
  }
  try {
    // CommonMark replaces NUL; jsonb could not hold it either.
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\0', '\uFFFD') }
  } catch {
    return { reason: 'not UTF-8' }
  }
}

async function findPackages(nodeModules: string): Promise<string[]> {
  await assertReadableFolder(nodeModules)
  const found: string[] = []
  const visit = async (directory: string): Promise<void> => {
    for (const name of await directoriesIn(directory)) {
      const path = join(directory, name)
      if (name.startsWith('@')) {
        for (const scoped of await directoriesIn(path)) await visitPackage(join(path, scoped))
      } else await visitPackage(path)
    }
  }
  const visitPackage = async (path: string): Promise<void> => {
    found.push(path)
    await visit(join(path, 'node_modules'))
  }
  await visit(nodeModules)
  return found
}

async function readManifest(directory: string): Promise<{ name: string; version?: string }> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'))
    const { name, version } = (manifest ?? {}) as { name?: unknown; version?: unknown }
    return {
      name: typeof name === 'string' && name !== '' ? name : basename(directory),
      ...(typeof version === 'string' ? { version } : {}),
    }
  } catch {
    return { name: basename(directory) }
  }
}

async function listFiles(directory: string): Promise<Pick<DocumentInput, 'files' | 'filesComplete'>> {
  const files = await walk(directory, MAX_LISTED_FILES + 1)
  return { files: files.slice(0, MAX_LISTED_FILES), filesComplete: files.length <= MAX_LISTED_FILES }
}

/** Relative paths with forward slashes, sorted within each folder; links are not followed, so a cycle cannot trap it. */
async function walk(root: string, most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const found: string[] = []
  const visit = async (directory: string): Promise<void> => {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      if (found.length >= most) return
      const path = join(directory, entry.name)
      if (entry.isFile()) found.push(toPosix(relative(root, path)))
      else if (entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== '.git') await visit(path)
    }
  }
  await visit(root)
  return found
}

async function assertReadableFolder(folder: string): Promise<void> {
  try {
    await readdir(folder)
  } catch (error) {
    const isFile = (error as NodeJS.ErrnoException).code === 'ENOTDIR'
    throw new StarflowError({
      code: 'SF601',
      message: isFile ? `${folder} is a file, not a folder.` : `The folder ${folder} cannot be read.`,
      detail: error instanceof Error ? error.message : String(error),
      hint: isFile ? `Name its folder: ${dirname(folder)}` : 'Check that it exists and may be listed by your user.',
      fields: { folder },
      cause: error,
    })
  }
}

async function directoriesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .sort()
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(() => [])).sort()
}

function toPosix(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/')
}
