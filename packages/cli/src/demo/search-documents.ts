import type { Database } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import { connect } from '../database/open-database.ts'
import type { Output } from '../output/output.ts'
import { openDemoDatabase } from './demo-database.ts'
import { printable } from './printable.ts'
import { demoDataDir } from './run-demo.ts'
import { hasSearchTerms, type SearchHit, searchIndex } from './search-index.ts'
import { searchLines } from './search-lines.ts'

export interface SearchOptions {
  readonly dataDir?: string | undefined
  readonly limit: number
}

/**
 * Searches the index that the demo built. Postgres is started for it, unless a demo that was kept is running.
 *
 * @throws StarflowError SF603 without an index, SF610 without a word
 */
export async function searchDocuments(words: string, options: SearchOptions, output: Output): Promise<void> {
  if (words.trim() === '') throw noWords()
  const dataDir = demoDataDir(options)
  const database = await openDemoDatabase(dataDir)
  if (database === undefined) throw noIndex(dataDir)
  let sql: Database | undefined
  try {
    sql = connect(database.url, 'starflow demo', { connections: 1 })
    const hits = await searchIndex(sql, words, options.limit)
    if (hits === undefined) throw noIndex(dataDir)
    output.result({ query: words, hits: hits.map(({ snippet, ...hit }) => ({ ...hit, snippet: plain(snippet) })) })
    if (hits.length > 0) for (const line of searchLines(hits, output)) output.line(line)
    else if (await hasSearchTerms(sql, words)) output.line(`No document has: ${printable(words)}`)
    else output.line(`Nothing to look for in: ${printable(words)} (words that every text has are left out)`)
  } finally {
    await sql?.end({ timeout: 1 })
    await database.close()
  }
}

function plain(snippet: SearchHit['snippet']): string {
  return snippet.map(({ text, isMatch }) => (isMatch ? `**${text}**` : text)).join('')
}

function noWords(): StarflowError {
  return new StarflowError({
    code: 'SF610',
    message: 'There is nothing to search for.',
    detail: 'The words are empty.',
    hint: 'For example: npm run demo -- search "markdown parser"',
  })
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
