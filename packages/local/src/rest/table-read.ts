import type { PoolClient } from 'pg'
import { readPage } from './page-statement.ts'
import { findRelation } from './relation.ts'
import { type RestAnswer, rowsAnswer } from './rest-answer.ts'
import { parseRestQuery } from './rest-query.ts'
import type { RestRequest } from './rest-request.ts'
import { qualifiedName, SqlParameters } from './sql-text.ts'

/** GET and HEAD of a table or view. */
export async function readTable(client: PoolClient, request: RestRequest, maxRows: number): Promise<RestAnswer> {
  const query = parseRestQuery(request.pairs, request.rangeHeader)
  const relation = await findRelation(client, request.schema, request.target.name)
  const page = await readPage(
    client,
    { from: qualifiedName(relation.schema, relation.name), columns: relation },
    new SqlParameters(),
    {
      query,
      mediaType: request.mediaType,
      limit: Math.min(query.range.limit ?? maxRows, maxRows),
      count: request.preferences.count,
    },
  )
  return rowsAnswer(request, page, query.range.offset)
}
