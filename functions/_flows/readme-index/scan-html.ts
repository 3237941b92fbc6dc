/** What a piece of HTML inside Markdown brings to a document. */
export interface HtmlFindings {
  readonly headings: readonly { depth: number; title: string }[]
  /** Values of `id`, and of `name` on links. */
  readonly anchors: readonly string[]
  /** Values of `href` and `src`. */
  readonly targets: readonly string[]
}

// Neither pattern can run over a `<`, so that a scan stays linear on hostile input such as a long row of `<a<a<a`.
const TAG = /<(\/?)([a-z][a-z0-9]*)([^<>]*)>/gi
const ATTRIBUTE = /([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/gi

/** A scan for the few tags that matter here, not a parser: READMEs hold fragments that no parser would call complete. */
export function scanHtml(html: string): HtmlFindings {
  const visible = html.includes('<!--') ? withoutComments(html) : html
  const headings: { depth: number; title: string }[] = []
  const anchors: string[] = []
  const targets: string[] = []
  let open: { depth: number; from: number } | undefined

  for (const match of visible.matchAll(TAG)) {
    const tag = match[2]!.toLowerCase()
    const isClosing = match[1] === '/'
    if (/^h[1-6]$/.test(tag)) {
      if (!isClosing) open = { depth: Number(tag[1]), from: match.index + match[0].length }
      else if (open?.depth === Number(tag[1])) {
        const title = decodeEntities(visible.slice(open.from, match.index).replace(TAG, '')).replace(/\s+/g, ' ').trim()
        if (title !== '') headings.push({ depth: open.depth, title })
        open = undefined
      }
    }
    if (isClosing) continue
    for (const attribute of match[3]!.matchAll(ATTRIBUTE)) {
      const name = attribute[1]!.toLowerCase()
      const value = decodeEntities(attribute[2] ?? attribute[3] ?? attribute[4] ?? '').trim()
      if (value === '') continue
      if (name === 'id' || (name === 'name' && tag === 'a')) anchors.push(value)
      if ((name === 'href' && tag === 'a') || (name === 'src' && tag === 'img')) targets.push(value)
    }
  }
  return { headings, anchors, targets }
}

function withoutComments(html: string): string {
  let visible = ''
  let from = 0
  for (;;) {
    const start = html.indexOf('<!--', from)
    if (start === -1) return visible + html.slice(from)
    visible += html.slice(from, start)
    const end = html.indexOf('-->', start + 4)
    if (end === -1) return visible
    from = end + 3
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
}

function decodeEntities(text: string): string {
  return text.includes('&')
    ? text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity)
    : text
}
