import { posix } from 'node:path'
import type { DocumentInput, Link, LinkCheck } from './document.ts'
import { decodePercent } from './resolve-links.ts'

type ShippedFiles = Pick<DocumentInput, 'path' | 'files' | 'filesComplete'>

/**
 * Checks one link against what the package ships. Nothing is fetched from the web.
 * `shipped` is asked for only when the link names a file: the list is the largest part of the flow input.
 */
export async function checkLink(link: Link, shipped: () => Promise<ShippedFiles>): Promise<LinkCheck> {
  const { target, kind } = link
  if (kind === 'anchor') {
    if (link.anchorExists) return { target, kind, status: 'ok' }
    return { target, kind, status: 'broken', reason: 'no heading has this anchor' }
  }
  if (kind !== 'file') return { target, kind, status: 'unchecked' }

  const { path, files, filesComplete } = await shipped()
  const file = resolveFile(target, path)
  if (file === undefined) return { target, kind, status: 'unchecked', reason: 'it lies outside of the package' }
  if (isShipped(file, files)) return { target, kind, status: 'ok' }
  if (!filesComplete) return { target, kind, status: 'unchecked', reason: 'the list of files is not complete' }
  return { target, kind, status: 'broken', reason: 'the package does not ship this file' }
}

/** The file relative to the package, '' for the package itself; undefined when it lies outside. */
function resolveFile(target: string, documentPath: string): string | undefined {
  const withoutQuery = decodePercent(target.replace(/[?#].*$/s, ''))
  const joined = withoutQuery.startsWith('/')
    ? withoutQuery.slice(1)
    : posix.join(posix.dirname(documentPath), withoutQuery)
  const normal = posix.normalize(joined).replace(/\/$/, '')
  if (normal === '.' || normal === '') return ''
  return normal === '..' || normal.startsWith('../') ? undefined : normal
}

/** A folder counts as shipped when anything in it is. */
function isShipped(file: string, files: readonly string[]): boolean {
  return file === '' || files.some((shipped) => shipped === file || shipped.startsWith(`${file}/`))
}
