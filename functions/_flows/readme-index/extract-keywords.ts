/// <reference path="./stopword.d.ts" />
import { eng } from 'stopword'
import type { ParsedDocument } from './document.ts'

/** What nearly every README says tells one from another as little as "the" does. */
const README_WORDS = [
  ...['install', 'installation', 'npm', 'yarn', 'pnpm', 'package', 'packages', 'module', 'modules', 'usage', 'use'],
  ...['used', 'uses', 'using', 'example', 'examples', 'license', 'licence', 'mit', 'readme', 'github', 'contributing'],
  ...['contributors', 'changelog', 'api', 'see', 'code', 'file', 'files', 'note', 'default', 'options', 'option'],
  ...['true', 'false', 'null', 'undefined', 'return', 'returns', 'require', 'import', 'export', 'const', 'let', 'var'],
  ...['you', 'your', 'will', 'when', 'which', 'also', 'may', 'must', 'should', 'any', 'such', 'then', 'there', 'other'],
  ...['node', 'nodejs', 'javascript', 'typescript', 'support', 'supported', 'version', 'versions', 'following', 'only'],
  ...['value', 'values', 'set', 'get', 'new', 'one', 'same', 'more', 'like', 'want', 'need', 'make', 'way', 'works'],
]

const STOP_WORDS: ReadonlySet<string> = new Set([...eng, ...README_WORDS])

/** Letters and digits, joined by single dots, dashes or underscores, as in `pg-boss` or `vite.config`. */
const TERM = /[\p{L}\p{N}]+(?:[-_.][\p{L}\p{N}]+)*/gu

const TITLE_WEIGHT = 3
const SECTION_WEIGHT = 2

/** The terms that characterise a document, best first: how often they are said, and whether headings say them. */
export function extractKeywords(document: Pick<ParsedDocument, 'title' | 'sections' | 'text'>, limit = 8): string[] {
  const counts = new Map<string, number>()
  for (const term of termsOf(document.text)) counts.set(term, (counts.get(term) ?? 0) + 1)
  const titleTerms = new Set(termsOf(document.title))
  const sectionTerms = new Set(document.sections.flatMap((section) => termsOf(section.title)))

  return [...counts]
    .map(([term, count]) => {
      const weight = titleTerms.has(term) ? TITLE_WEIGHT : sectionTerms.has(term) ? SECTION_WEIGHT : 1
      return { term, score: (1 + Math.log(count)) * weight }
    })
    .sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1))
    .slice(0, limit)
    .map((entry) => entry.term)
}

function termsOf(text: string): string[] {
  const terms = text.toLowerCase().match(TERM) ?? []
  return terms.filter((term) => term.length > 2 && term.length <= 40 && !/^\d/.test(term) && !STOP_WORDS.has(term))
}
