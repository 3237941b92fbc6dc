import type { Output } from '../output/output.ts'
import { printable } from './printable.ts'
import type { SearchHit } from './search-index.ts'

const INDENT = '    '

/**
 * Hits as lines for a person. In a terminal matches are bold and passages wrap at its width; elsewhere matches stand
 * between guillemets, which Markdown does not use, and each passage is one line.
 */
export function searchLines(
  hits: readonly SearchHit[],
  { colors, isInteractive }: Pick<Output, 'colors' | 'isInteractive'>,
  columns = process.stdout.columns || 80,
): string[] {
  const width = isInteractive ? columns - INDENT.length : Number.POSITIVE_INFINITY
  const mark = (text: string) => (isInteractive ? colors.bold(colors.yellow(text)) : `«${text}»`)
  return hits.flatMap((hit, index) => {
    const version = hit.version === '' ? '' : ` ${hit.version}`
    const title = `${String(index + 1).padStart(2)}. ${printable(hit.title)}`
    const source = `${printable(hit.package + version)} · ${printable(hit.path)} · ${hit.rank.toFixed(3)}`
    const fits = !isInteractive || title.length + 2 + source.length <= columns
    return [
      ...(fits ? [`${colors.bold(title)}  ${colors.dim(source)}`] : [colors.bold(title), INDENT + colors.dim(source)]),
      ...wrap(hit.snippet, width, mark).map((line) => INDENT + line),
    ]
  })
}

/** Breaks between words, and counts what is seen: the marks of a terminal take no column. */
function wrap(snippet: SearchHit['snippet'], width: number, mark: (text: string) => string): string[] {
  const lines: string[] = []
  let line = ''
  let used = 0
  for (const word of wordsOf(snippet)) {
    const length = word.reduce((sum, piece) => sum + piece.text.length, 0)
    const shown = word.map(({ text, isMatch }) => (isMatch ? mark(text) : text)).join('')
    if (used > 0 && used + 1 + length > width) {
      lines.push(line)
      line = shown
      used = length
    } else {
      line = used === 0 ? shown : `${line} ${shown}`
      used += (used === 0 ? 0 : 1) + length
    }
  }
  return used === 0 ? lines : [...lines, line]
}

/** A word may be a match in part, for example `(pool)`. */
function wordsOf(snippet: SearchHit['snippet']): SearchHit['snippet'][] {
  const words: { text: string; isMatch: boolean }[][] = [[]]
  for (const { text, isMatch } of snippet) {
    const parts = printable(text).split(/\s+/)
    for (const [index, part] of parts.entries()) {
      if (index > 0) words.push([])
      if (part !== '') words.at(-1)!.push({ text: part, isMatch })
    }
  }
  return words.filter((word) => word.length > 0)
}
