import type { Link, LinkKind, ParsedDocument } from './document.ts'

/** Anchors that every page has on GitHub and npm, whatever its headings are. */
const ANCHORS_OF_EVERY_PAGE = ['', 'top', 'readme']

/** Names the kind of each link, and says of each in-document anchor whether a heading or an HTML anchor carries it. */
export function resolveLinks(document: Pick<ParsedDocument, 'targets' | 'sections' | 'htmlAnchors'>): Link[] {
  const anchors = new Set([
    ...ANCHORS_OF_EVERY_PAGE,
    ...document.sections.map((section) => section.anchor),
    ...document.htmlAnchors,
  ])
  return document.targets.map((target) => {
    const kind = kindOf(target)
    return kind === 'anchor' ? { target, kind, anchorExists: anchors.has(anchorOf(target)) } : { target, kind }
  })
}

function kindOf(target: string): LinkKind {
  if (target.startsWith('#')) return 'anchor'
  if (target.startsWith('//')) return 'web'
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(target)?.[1]?.toLowerCase()
  if (scheme === undefined) return 'file'
  if (scheme === 'http' || scheme === 'https') return 'web'
  return scheme === 'mailto' ? 'mail' : 'other'
}

/** GitHub prefixes the anchors it makes, and finds them in any case. */
function anchorOf(target: string): string {
  return decodePercent(target.slice(1))
    .toLowerCase()
    .replace(/^user-content-/, '')
}

/** Percent-decodes what can be decoded; a stray `%` stays itself. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
