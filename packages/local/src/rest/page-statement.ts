import type { PoolClient } from 'pg'
import { type ColumnSource, columnSql } from './column-path.ts'
import { whereSql } from './filter-sql.ts'
import type { MediaType } from './media-type.ts'
import { orderSql } from './order-list.ts'
import { RestError } from './rest-error.ts'
import { outOfRange, type RestQuery } from './rest-query.ts'
import { selectListSql } from './select-list.ts'
import type { SqlParameters } from './sql-text.ts'

/** Where the rows of an answer come from. */
export interface PageSource {
  /** Named queries that `from` uses. */
  readonly with?: string
  readonly from: string
  readonly columns: ColumnSource
  /** The rows are bare values, in the column `pgrst_scalar`. */
  readonly isScalar?: boolean
}

/** The rows of one answer. */
export interface Page {
  readonly rowCount: number
  /** How many there are without limit and offset; undefined where it was not asked for. */
  readonly total: number | undefined
  /** JSON, as Postgres wrote it: a number of any length stays what it is. */
  readonly body: string
}

export interface PageOptions {
  readonly query: RestQuery
  readonly mediaType: Pick<MediaType, 'shape' | 'stripsNulls'>
  readonly limit: number | undefined
  readonly count: 'exact' | 'planned' | 'estimated' | undefined
}

/** Above this many rows an estimated count is what the planner expects. */
const ESTIMATE_ABOVE_ROWS = 1000

/** Reads the wanted rows of a source in one statement. Throws PGRST116 where one row was to be and is not. */
export async function readPage(
  client: PoolClient,
  source: PageSource,
  parameters: SqlParameters,
  { query, mediaType, limit, count }: PageOptions,
): Promise<Page> {
  const planned =
    count === 'planned' || count === 'estimated' ? await plannedRows(client, source, query, parameters) : undefined
  const countsAll = count === 'exact' || (count === 'estimated' && Number(planned) <= ESTIMATE_ABOVE_ROWS)
  const where = () => whereSql(query.conditions, source.columns, parameters)
  const { offset } = query.range
  const page = [
    `select ${itemsSql(source, query, parameters)} from ${source.from}${where()}`,
    orderSql(query.order, source.columns, parameters),
    limit === undefined ? '' : ` limit ${parameters.bind(limit)}`,
    offset === 0 ? '' : ` offset ${parameters.bind(offset)}`,
  ].join('')
  const total = countsAll ? `(select count(*) from ${source.from}${where()})::text` : 'null'
  const { rows } = await client.query<{ count: string; total: string | null; body: string | null }>(
    `with ${source.with === undefined ? '' : `${source.with}, `}pgrst_page as (${page})
     select count(*)::text as count, ${total} as total, ${bodySql(source, mediaType)} as body from pgrst_page as pgrst_row`,
    parameters.values,
  )
  const found = rows[0]!
  const rowCount = Number(found.count)
  if (mediaType.shape === 'object' && rowCount !== 1) throw notOneRow(rowCount)
  const all = found.total === null ? planned : Number(found.total)
  if (count !== undefined && all !== undefined && offset > all) {
    throw outOfRange(`An offset of ${offset} was requested, but there are only ${all} rows.`)
  }
  return { rowCount, total: all, body: found.body ?? 'null' }
}

function itemsSql(source: PageSource, query: RestQuery, parameters: SqlParameters): string {
  if (source.isScalar !== true) return selectListSql(query.select, source.columns, parameters)
  return columnSql({ column: 'pgrst_scalar', steps: [] }, source.columns, parameters)
}

function bodySql({ isScalar }: PageSource, { shape, stripsNulls }: PageOptions['mediaType']): string {
  const row = isScalar === true ? 'pgrst_row.pgrst_scalar' : 'pgrst_row'
  const rows = stripsNulls && isScalar !== true ? `json_agg(json_strip_nulls(row_to_json(${row})))` : `json_agg(${row})`
  return shape === 'object' ? `(${rows} -> 0)::text` : `coalesce(${rows}, '[]')::text`
}

/** Parameters are bound only after this, so the plan has its own. */
async function plannedRows(
  client: PoolClient,
  source: PageSource,
  query: RestQuery,
  parameters: SqlParameters,
): Promise<number> {
  const own = parameters.copy()
  const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) ${source.with === undefined ? '' : `with ${source.with} `}select 1 from ${source.from}${whereSql(query.conditions, source.columns, own)}`,
    own.values,
  )
  return rows[0]!['QUERY PLAN'][0].Plan['Plan Rows']
}

function notOneRow(rowCount: number): RestError {
  return new RestError({
    status: 406,
    code: 'PGRST116',
    message: 'Cannot coerce the result to a single JSON object',
    details: `The result contains ${rowCount} rows`,
  })
}
