import type { Sql } from '@starflow/core'

export interface SearchHit {
  readonly documentId: string
  readonly package: string
  readonly version: string
  readonly path: string
  readonly title: string
  readonly keywords: readonly string[]
  /** Larger is better; comparable within one search only. */
  readonly rank: number
  /** Passages of the document, as pieces that are a match or not. */
  readonly snippet: readonly { readonly text: string; readonly isMatch: boolean }[]
}

/** Control characters cannot be part of what they delimit: the query below takes them out of the text first. */
const MATCH_START = '\u0002'
const MATCH_STOP = '\u0003'
const MATCHES = new RegExp(`${MATCH_START}([^${MATCH_STOP}]*)${MATCH_STOP}`, 'g')

/** Whether anything is left to look for: words such as "the" are in every text, and the index leaves them out. */
export async function hasSearchTerms(sql: Sql, words: string): Promise<boolean> {
  const [{ terms }] = await sql<[{ terms: number }]>`
    select numnode(websearch_to_tsquery('english', ${words})) as terms
  `
  return terms > 0
}

/**
 * The documents that fit best, as a search engine would take the words: `"exact phrase"`, `or` and `-without` work.
 * Undefined where the demo has built no index yet.
 */
export async function searchIndex(sql: Sql, words: string, limit: number): Promise<SearchHit[] | undefined> {
  const [index] = await sql<[{ exists: boolean }]>`select to_regclass('demo.documents') is not null as exists`
  if (!index.exists) return undefined
  // Only the documents that are shown pay for a headline.
  const rows = await sql<(Omit<SearchHit, 'snippet'> & { headline: string })[]>`
    with query as (
      select websearch_to_tsquery('english', ${words}) as terms
    ),
    best as (
      select documents.*, query.terms, ts_rank_cd(documents.search, query.terms, 1) as rank
      from demo.documents, query
      where documents.search @@ query.terms
      order by rank desc, document_id
      limit ${limit}
    )
    select
      document_id as "documentId", package, version, path, title, keywords, rank,
      ts_headline('english', regexp_replace(body, '[\\u0001-\\u001f\\u007f-\\u009f]+', ' ', 'g'), terms,
        ${`StartSel=${MATCH_START}, StopSel=${MATCH_STOP}, MaxFragments=2, MinWords=6, MaxWords=20, FragmentDelimiter=" … "`}
      ) as headline
    from best
    order by rank desc, document_id
  `
  if (rows.length === 0) {
    const [{ isEmpty }] = await sql<[{ isEmpty: boolean }]>`select not exists (select from demo.documents) as "isEmpty"`
    if (isEmpty) return undefined
  }
  return rows.map(({ headline, ...hit }) => ({ ...hit, snippet: piecesOf(headline) }))
}

function piecesOf(headline: string): SearchHit['snippet'] {
  const pieces: { text: string; isMatch: boolean }[] = []
  let from = 0
  for (const match of headline.matchAll(MATCHES)) {
    if (match.index > from) pieces.push({ text: headline.slice(from, match.index), isMatch: false })
    pieces.push({ text: match[1]!, isMatch: true })
    from = match.index + match[0].length
  }
  if (from < headline.length) pieces.push({ text: headline.slice(from), isMatch: false })
  return pieces
}
