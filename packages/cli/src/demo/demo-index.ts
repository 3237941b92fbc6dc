import type { Sql } from '@starflow/core'

/**
 * Empties the index, so that a search finds the documents of the last demo only. Runs that an interrupted demo left open
 * are cancelled: they would go on beside the new ones and put their documents back.
 */
export async function forgetEarlierDemos(sql: Sql, flowSlug: string): Promise<void> {
  await sql`
    select count(*)
    from pgflow.cancel_runs(
      array(select run_id from pgflow.runs where flow_slug = ${flowSlug} and status = 'started'), 'A new demo has started.')
  `
  await sql`delete from demo.documents`
}

/**
 * A word worth searching for: the keyword that most documents share among those that still tell documents apart, since
 * one that a third of them has finds too much. Undefined for an empty index.
 */
export async function commonKeyword(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ keyword: string }[]>`
    select keyword
    from demo.documents, unnest(keywords) as keyword
    where keyword ~ '^[[:alpha:]]{4,}$' and numnode(to_tsquery('english', keyword)) > 0
    group by keyword
    order by count(*) <= greatest(1, (select count(*) from demo.documents) / 3) desc, count(*) desc, keyword
    limit 1
  `
  return row?.keyword
}
