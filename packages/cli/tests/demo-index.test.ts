import { randomUUID } from 'node:crypto'
import type {} from '@starflow/edge-worker'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { LinkCheck } from '../../../functions/_flows/readme-index/document.ts'
import { parseDocument } from '../../../functions/_flows/readme-index/parse-document.ts'
import { reportBrokenLinks, storeDocument } from '../../../functions/_flows/readme-index/store-document.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { applyDemoSchema } from '../src/demo/apply-schema.ts'
import { commonKeyword } from '../src/demo/demo-index.ts'
import { hasSearchTerms, searchIndex } from '../src/demo/search-index.ts'

const { sql } = await testDatabase({ template: 'platform' })

const parsed = (name: string, markdown: string) =>
  parseDocument({ package: name, version: '1.0.0', path: 'README.md', markdown, files: [], filesComplete: true })
const broken = (target: string): LinkCheck => ({ target, kind: 'file', status: 'broken', reason: 'not shipped' })

test('before the demo has run there is no index', async () => {
  expect(await searchIndex(sql, 'pool', 5)).toBeUndefined()
})

describe('with the demo schema', () => {
  beforeAll(() => applyDemoSchema(sql))
  afterEach(() => sql`truncate demo.documents cascade`)

  test('the schema can be applied again', async () => {
    await applyDemoSchema(sql)
    expect(await sql`select from demo.documents`).toHaveLength(0)
  })

  test('an empty index counts as none', async () => {
    expect(await searchIndex(sql, 'pool', 5)).toBeUndefined()
  })

  test('indexing a document again replaces it', async () => {
    await storeDocument(sql, randomUUID(), parsed('pg-pool', '# Old\n\nold'), ['old'])
    const runId = randomUUID()
    await storeDocument(sql, runId, parsed('pg-pool', '# Pool\n\n```js\nx\n```\n\nConnections'), ['pool'])
    expect(await sql`select document_id, title, keywords, code_languages, words, run_id from demo.documents`).toEqual([
      {
        document_id: 'pg-pool@1.0.0/README.md',
        title: 'Pool',
        keywords: ['pool'],
        code_languages: ['js'],
        words: 2,
        run_id: runId,
      },
    ])
  })

  test('broken links are one row each, reported twice or not, and forgotten by the next run', async () => {
    const document = parsed('a', '# A')
    const [first, second] = [randomUUID(), randomUUID()]
    await storeDocument(sql, first, document, [])
    const checks = [
      broken('x.md'),
      broken('y.md'),
      { target: 'https://a.test', kind: 'web', status: 'unchecked' } as const,
    ]
    expect(await reportBrokenLinks(sql, first, document.identity.id, checks)).toBe(2)
    expect(await reportBrokenLinks(sql, first, document.identity.id, checks)).toBe(2)
    await storeDocument(sql, first, document, [])
    expect(await sql`select target from demo.broken_links order by target`).toEqual([
      { target: 'x.md' },
      { target: 'y.md' },
    ])
    await storeDocument(sql, second, document, [])
    expect(await sql`select from demo.broken_links`).toHaveLength(0)
    expect(await reportBrokenLinks(sql, second, document.identity.id, [])).toBe(0)
  })

  test('search ranks titles above prose and marks the words it found', async () => {
    await storeDocument(sql, randomUUID(), parsed('other', '# Other\n\nOne may pool a connection here.'), [])
    await storeDocument(sql, randomUUID(), parsed('pool', '# Connection pool\n\nKeeps connections in a pool.'), [
      'pool',
    ])
    await storeDocument(sql, randomUUID(), parsed('unrelated', '# Nothing\n\nto see'), [])
    const hits = await searchIndex(sql, 'connection pool', 5)
    expect(hits?.map((hit) => hit.package)).toEqual(['pool', 'other'])
    expect(hits![0]!.rank).toBeGreaterThan(hits![1]!.rank)
    const { snippet } = hits![0]!
    expect(snippet.map((piece) => piece.text).join('')).toContain('Keeps connections in a pool')
    expect(snippet.filter((piece) => piece.isMatch).map((piece) => piece.text)).toContain('connections')
    expect(await searchIndex(sql, 'connection pool', 1)).toHaveLength(1)
  })

  test('phrases, exclusions and words that nothing has are understood', async () => {
    await storeDocument(sql, randomUUID(), parsed('a', '# A\n\nred green blue'), [])
    expect(await searchIndex(sql, '"red green"', 5)).toHaveLength(1)
    expect(await searchIndex(sql, '"red blue"', 5)).toHaveLength(0)
    expect(await searchIndex(sql, 'red -blue', 5)).toHaveLength(0)
    expect(await searchIndex(sql, 'the', 5)).toHaveLength(0)
    expect(await searchIndex(sql, `'; & | !! <-> "`, 5)).toHaveLength(0)
  })

  test('words that the index leaves out are told from words that no document has', async () => {
    expect(await hasSearchTerms(sql, 'the')).toBe(false)
    expect(await hasSearchTerms(sql, `'; & | "`)).toBe(false)
    expect(await hasSearchTerms(sql, 'the pool')).toBe(true)
  })

  test('the keyword to try is one that several documents share, but not all, and that finds them', async () => {
    expect(await commonKeyword(sql)).toBeUndefined()
    const keywords = [['install', 'pool'], ['install', 'pool'], ['install', 'it'], ...Array(3).fill(['install'])]
    for (const [index, words] of keywords.entries()) {
      await storeDocument(sql, randomUUID(), parsed(`p${index}`, `# P\n\n${words.join(' ')}`), words)
    }
    expect(await commonKeyword(sql)).toBe('pool')
    expect(await searchIndex(sql, 'pool', 5)).toHaveLength(2)
  })

  test('control characters of a document never reach the terminal', async () => {
    await storeDocument(sql, randomUUID(), parsed('evil', '# Evil\n\nred \u001b[31m\u009b\u0002fake\u0003 text'), [])
    const [hit] = (await searchIndex(sql, 'red', 5))!
    expect(hit!.snippet.filter((piece) => piece.isMatch).map((piece) => piece.text)).toEqual(['red'])
    expect(hit!.snippet.map((piece) => piece.text).join('')).not.toMatch(/\p{Cc}/u)
  })
})
