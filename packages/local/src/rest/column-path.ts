import type { QueryScanner } from './query-scanner.ts'
import { quoteIdentifier, type SqlParameters } from './sql-text.ts'

/** A column, or a place inside its JSON: `input->steps->0->>name`. */
export interface ColumnPath {
  readonly column: string
  readonly steps: readonly JsonStep[]
}

interface JsonStep {
  readonly arrow: '->' | '->>'
  /** A number is an index into an array. */
  readonly key: string | number
}

/** What the columns of a query belong to. */
export interface ColumnSource {
  /** The name that the statement gives it. */
  readonly alias: string
  /** True for columns of type json and jsonb; others are converted before a path goes into them. */
  isJson(column: string): boolean
}

export function readColumnPath(scanner: QueryScanner): ColumnPath {
  const column = scanner.takeName('a column name')
  const steps: JsonStep[] = []
  for (;;) {
    const arrow = scanner.accept('->>') ? '->>' : scanner.accept('->') ? '->' : undefined
    if (arrow === undefined) return { column, steps }
    const index = scanner.take(/-?\d{1,9}(?=->|::|[.,)]|$)/y)?.[0]
    steps.push({ arrow, key: index === undefined ? scanner.takeName('a JSON key') : Number(index) })
  }
}

/** The path as an expression. Keys are bound like values; the column is quoted. */
export function columnSql({ column, steps }: ColumnPath, source: ColumnSource, parameters: SqlParameters): string {
  const reference = `${quoteIdentifier(source.alias)}.${quoteIdentifier(column)}`
  if (steps.length === 0) return reference
  const json = source.isJson(column) ? reference : `to_jsonb(${reference})`
  const tail = steps.map(({ arrow, key }) => {
    return `${arrow}${parameters.bind(String(key))}::${typeof key === 'number' ? 'integer' : 'text'}`
  })
  return `(${json}${tail.join('')})`
}

/** The name that a path's value has in the answer when no alias is given: that of its last key. */
export function nameOfPath({ column, steps }: ColumnPath): string {
  const key = steps.findLast((step) => typeof step.key === 'string')?.key
  return key === undefined ? column : String(key)
}
