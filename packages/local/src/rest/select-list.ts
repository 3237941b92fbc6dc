import { type ColumnPath, type ColumnSource, columnSql, nameOfPath, readColumnPath } from './column-path.ts'
import { QueryScanner } from './query-scanner.ts'
import { RestError } from './rest-error.ts'
import { quoteIdentifier, type SqlParameters } from './sql-text.ts'

/** One item of `select=`: all columns, or one of them with another name or type. */
export type SelectItem = '*' | SelectedColumn

interface SelectedColumn {
  readonly path: ColumnPath
  readonly alias: string | undefined
  /** The type of `column::type`. Its characters can name a type and nothing else. */
  readonly cast: string | undefined
}

// numeric(10,2), double precision, "public".mood is not: PostgREST takes bare words too.
const TYPE = /[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z][A-Za-z0-9_]*)*(?:\(\d+(?:,\d+)?\))?(?:\[\])?/y
const AGGREGATES = new Set(['count', 'sum', 'avg', 'min', 'max'])

export function parseSelectList(text: string): readonly SelectItem[] {
  if (text === '') return ['*']
  const scanner = new QueryScanner(text, 'select parameter')
  const items: SelectItem[] = []
  do {
    items.push(readItem(scanner))
  } while (scanner.accept(','))
  scanner.end()
  return items
}

function readItem(scanner: QueryScanner): SelectItem {
  if (scanner.accept('*')) return '*'
  if (scanner.accept('...')) throw embedding()
  const first = readColumnPath(scanner)
  const isAlias = first.steps.length === 0 && scanner.take(/:(?!:)/y) !== undefined
  const path = isAlias ? readColumnPath(scanner) : first
  if (scanner.take(/[!(]/y) !== undefined) throw AGGREGATES.has(path.column) ? aggregate() : embedding()
  if (scanner.take(/\.[a-z]+\(/y) !== undefined) throw aggregate()
  const cast = scanner.accept('::') ? (scanner.take(TYPE)?.[0] ?? scanner.fail('a type')) : undefined
  return { path, alias: isAlias ? first.column : undefined, cast }
}

/** The items as SQL, each with the name that it has in the answer. */
export function selectListSql(items: readonly SelectItem[], source: ColumnSource, parameters: SqlParameters): string {
  return items
    .map((item) => {
      if (item === '*') return `${quoteIdentifier(source.alias)}.*`
      const { path, alias, cast } = item
      const value = columnSql(path, source, parameters)
      return `${cast === undefined ? value : `cast(${value} as ${cast})`} as ${quoteIdentifier(alias ?? nameOfPath(path))}`
    })
    .join(', ')
}

function embedding(): RestError {
  return new RestError({
    status: 400,
    code: 'PGRST200',
    message: 'Embedded resources (select=a(b)) are not served by the local platform.',
    details: 'Relationships between tables are not looked up here; a Supabase project does it.',
    hint: 'Query a view, call a function, or query the tables one by one.',
  })
}

function aggregate(): RestError {
  return new RestError({
    status: 400,
    code: 'PGRST123',
    message: 'Use of aggregate functions is not allowed',
    hint: 'They are off on hosted projects too, until a project switches them on.',
  })
}
