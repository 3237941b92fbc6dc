import type { PoolClient } from 'pg'
import { whereSql } from './filter-sql.ts'
import { readPage } from './page-statement.ts'
import { columnsNamed, findRelation, type Relation, type RelationColumn } from './relation.ts'
import { parseRequestRows, type RequestRows } from './request-rows.ts'
import { emptyAnswer, type RestAnswer, writtenAnswer } from './rest-answer.ts'
import { RestError } from './rest-error.ts'
import { parseRestQuery, type RestQuery } from './rest-query.ts'
import type { RestRequest } from './rest-request.ts'
import { qualifiedName, quoteIdentifier, SqlParameters } from './sql-text.ts'

/** POST, PATCH and DELETE of a table or view. */
export async function writeTable(client: PoolClient, request: RestRequest, body: string): Promise<RestAnswer> {
  const query = parseRestQuery(request.pairs)
  const relation = await findRelation(client, request.schema, request.target.name)
  const parameters = new SqlParameters()
  const statement = statementOf(request, relation, query, body, parameters)
  if (request.preferences.return !== 'representation') {
    const { rowCount } = await client.query(statement, parameters.values)
    refuseTooMany(request, rowCount ?? 0)
    return emptyAnswer(request, rowCount ?? 0)
  }
  const page = await readPage(
    client,
    {
      with: `pgrst_written as (${statement} returning ${returnedColumns(relation, query)})`,
      from: `pgrst_written as ${quoteIdentifier(relation.alias)}`,
      columns: relation,
    },
    parameters,
    // Conditions chose the rows; in what is returned they have nothing left to say.
    { query: { ...query, conditions: [] }, mediaType: request.mediaType, limit: query.range.limit, count: 'exact' },
  )
  refuseTooMany(request, page.total ?? 0)
  return writtenAnswer(request, page)
}

function statementOf(
  request: RestRequest,
  relation: Relation,
  query: RestQuery,
  body: string,
  parameters: SqlParameters,
): string {
  const table = qualifiedName(relation.schema, relation.name)
  if (request.method === 'POST') {
    return insertSql(table, relation, parseRequestRows(body, query.columns), request, query, parameters)
  }
  // Hosted projects load safeupdate for the API's connections.
  if (query.conditions.length === 0) throw withoutWhere(request.method === 'PATCH' ? 'UPDATE' : 'DELETE')
  if (request.method === 'DELETE') {
    return `delete from ${table}${whereSql(query.conditions, relation, parameters)}`
  }
  return updateSql(table, relation, parseRequestRows(body, query.columns), query, parameters)
}

function insertSql(
  table: string,
  relation: Relation,
  rows: RequestRows,
  { preferences }: RestRequest,
  query: RestQuery,
  parameters: SqlParameters,
): string {
  const columns = columnsNamed(relation, rows.columns)
  const conflict = conflictSql(relation, columns, preferences.resolution, query.onConflict)
  const json = parameters.bind(rows.json)
  // Rows without a column are rows of defaults.
  if (columns.length === 0) return `insert into ${table} select from json_array_elements(${json}::json)${conflict}`
  const list = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  const source =
    preferences.missing === 'default' ? withDefaults(`${json}::jsonb`, columns, parameters) : `${json}::json`
  return `insert into ${table} (${list}) select ${list} from ${recordset(source, columns)}${conflict}`
}

/** The rows, with the default of each column that a row leaves out. */
function withDefaults(json: string, columns: readonly RelationColumn[], parameters: SqlParameters): string {
  const defaults = columns.flatMap(({ name, defaultValue }) => {
    return defaultValue === null ? [] : [`jsonb_build_object(${parameters.bind(name)}::text, ${defaultValue})`]
  })
  const row = [...defaults, 'element'].join(' || ')
  return `(select coalesce(jsonb_agg(${row}), '[]') from jsonb_array_elements(${json}) as element)::json`
}

function conflictSql(
  relation: Relation,
  columns: readonly RelationColumn[],
  resolution: 'merge-duplicates' | 'ignore-duplicates' | undefined,
  onConflict: readonly string[] | undefined,
): string {
  const target = onConflict ?? relation.primaryKey
  if (resolution === undefined || target.length === 0) return ''
  const names = columnsNamed(relation, target).map(({ name }) => quoteIdentifier(name))
  const changes = columns.map(({ name }) => `${quoteIdentifier(name)} = excluded.${quoteIdentifier(name)}`)
  const action =
    resolution === 'ignore-duplicates' || changes.length === 0 ? 'nothing' : `update set ${changes.join(', ')}`
  return ` on conflict (${names.join(', ')}) do ${action}`
}

function updateSql(
  table: string,
  relation: Relation,
  rows: RequestRows,
  query: RestQuery,
  parameters: SqlParameters,
): string {
  const columns = columnsNamed(relation, rows.columns)
  // Nothing to set: the rows that fit are none of it, as PostgREST answers.
  if (columns.length === 0) return `delete from ${table} where false`
  const changes = columns.map(({ name }) => `${quoteIdentifier(name)} = pgrst_body.${quoteIdentifier(name)}`)
  const body = recordset(`${parameters.bind(rows.json)}::json`, columns)
  // One row at most, so that no row is changed twice.
  const source = `(select * from ${body} limit 1) as pgrst_body`
  return `update ${table} set ${changes.join(', ')} from ${source}${whereSql(query.conditions, relation, parameters)}`
}

/** The types are those of the catalog, so each value is read as its column reads it. */
function recordset(json: string, columns: readonly RelationColumn[]): string {
  const definitions = columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`)
  return `json_to_recordset(${json}) as pgrst_body (${definitions.join(', ')})`
}

/** Only what is shown or ordered by: the role may not be allowed to read the rest. */
function returnedColumns({ alias }: Relation, { select, order }: RestQuery): string {
  const table = quoteIdentifier(alias)
  if (select.includes('*')) return `${table}.*`
  const paths = [...select.flatMap((item) => (item === '*' ? [] : [item.path])), ...order.map(({ path }) => path)]
  return [...new Set(paths.map(({ column }) => `${table}.${quoteIdentifier(column)}`))].join(', ')
}

/** Thrown before the commit, so that nothing was written. */
function refuseTooMany({ preferences: { maxAffected } }: RestRequest, count: number): void {
  if (maxAffected === undefined || count <= maxAffected) return
  throw new RestError({
    status: 400,
    code: 'PGRST124',
    message: 'Query result exceeds max-affected preference constraint',
    details: `The query affects ${count} rows`,
  })
}

function withoutWhere(command: 'UPDATE' | 'DELETE'): RestError {
  return new RestError({
    status: 400,
    code: '21000',
    message: `${command} requires a WHERE clause`,
    hint: 'Add a filter to the request.',
  })
}
