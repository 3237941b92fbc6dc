import { StarflowError } from '@starflow/errors'
import postgres, { type Sql } from 'postgres'
import type { Output } from '../output/output.ts'
import { openDemoDatabase } from './demo-database.ts'
import { demoDataDir } from './run-demo.ts'
import { type SearchHit, searchIndex } from './search-index.ts'

export interface SearchOptions {
  readonly dataDir?: string | undefined
  readonly limit: number
}

/**
 * Searches the index that the demo built. Postgres is started for it, unless a demo that was kept is running.
 *
 * @throws StarflowError SF603 without an index
 */
export async function searchDocuments(words: string, options: SearchOptions, output: Output): Promise<void> {
  const dataDir = demoDataDir(options)
  const database = await openDemoDatabase(dataDir)
  if (database === undefined) throw noIndex(dataDir)
  let sql: Sql | undefined
  try {
    sql = postgres(database.url, { max: 1, onnotice: () => {} })
    const hits = await searchIndex(sql, words, options.limit)
    if (hits === undefined) throw noIndex(dataDir)
    output.result({ query: words, hits: hits.map(({ snippet, ...hit }) => ({ ...hit, snippet: plain(snippet) })) })
    for (const line of searchLines(words, hits, output)) output.line(line)
  } finally {
    await sql?.end({ timeout: 1 })
    await database.close()
  }
}

/** Hits as lines for a person; matches are bold in a terminal and between asterisks elsewhere. */
function searchLines(words: string, hits: readonly SearchHit[], { colors, isInteractive }: Output): string[] {
  if (hits.length === 0) return [`No document has: ${printable(words)}`]
  const mark = (text: string) => (isInteractive ? colors.bold(colors.yellow(text)) : `*${text}*`)
  return hits.flatMap((hit, index) => {
    const version = hit.version === '' ? '' : ` ${hit.version}`
    const snippet = hit.snippet.map(({ text, isMatch }) => (isMatch ? mark(printable(text)) : printable(text))).join('')
    return [
      `${String(index + 1).padStart(2)}. ${colors.bold(printable(hit.title))}  ${colors.dim(`${printable(hit.package + version)} · ${printable(hit.path)} · ${hit.rank.toFixed(3)}`)}`,
      `    ${snippet.trim()}`,
    ]
  })
}

function plain(snippet: SearchHit['snippet']): string {
  return snippet.map(({ text, isMatch }) => (isMatch ? `**${text}**` : text)).join('')
}

/** Titles and paths come from files that anybody may have written: no escape sequence of theirs reaches the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}

function noIndex(dataDir: string): StarflowError {
  return new StarflowError({
    code: 'SF603',
    message: 'There is no index to search yet.',
    detail: `Looked into ${dataDir}.`,
    hint: 'Run the demo first: npm run demo',
    fields: { dataDir },
  })
}
