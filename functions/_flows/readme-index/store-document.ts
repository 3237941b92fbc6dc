import type { PlatformSql } from '@starflow/dsl'
import type { LinkCheck, ParsedDocument } from './document.ts'

/**
 * Puts a document into the full-text index. Safe to run twice: the row is replaced. Broken links of earlier runs are
 * forgotten in the same statement; those of this run stay, since a slow first attempt may end after `report` has run.
 */
export async function storeDocument(sql: PlatformSql, runId: string, document: ParsedDocument, keywords: string[]) {
  const { identity, title, sections, codeLanguages, words, text } = document
  const headings = sections.map((section) => section.title).join('\n')
  await sql`
    with forgotten as (
      delete from demo.broken_links where document_id = ${identity.id} and run_id <> ${runId}
    )
    insert into demo.documents
      (document_id, package, version, path, title, headings, keywords, code_languages, words, body, run_id)
    values
      (${identity.id}, ${identity.package}, ${identity.version}, ${identity.path}, ${title}, ${headings},
       ${keywords}, ${codeLanguages}, ${words}, ${text}, ${runId})
    on conflict (document_id) do update set
      title = excluded.title, headings = excluded.headings, keywords = excluded.keywords,
      code_languages = excluded.code_languages, words = excluded.words, body = excluded.body,
      run_id = excluded.run_id, indexed_at = now()
  `
}

/** One row per broken link; gives their number. Safe to run twice. */
export async function reportBrokenLinks(
  sql: PlatformSql,
  runId: string,
  documentId: string,
  checks: readonly LinkCheck[],
): Promise<number> {
  const rows = checks
    .filter((check) => check.status === 'broken')
    .map(({ target, kind, reason }) => ({
      document_id: documentId,
      target,
      kind,
      reason: reason ?? 'unknown',
      run_id: runId,
    }))
  if (rows.length === 0) return 0
  await sql`
    insert into demo.broken_links ${sql(rows)}
    on conflict (document_id, target) do update set
      kind = excluded.kind, reason = excluded.reason, run_id = excluded.run_id, found_at = now()
  `
  return rows.length
}
