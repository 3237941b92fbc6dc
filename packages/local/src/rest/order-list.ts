import { type ColumnPath, type ColumnSource, columnSql, readColumnPath } from './column-path.ts'
import { QueryScanner } from './query-scanner.ts'
import type { SqlParameters } from './sql-text.ts'

/** One term of `order=`. */
export interface OrderTerm {
  readonly path: ColumnPath
  readonly direction: 'asc' | 'desc'
  readonly nulls: 'first' | 'last' | undefined
}

/** `order=status.desc.nullslast,id`. */
export function parseOrderList(text: string): readonly OrderTerm[] {
  if (text === '') return []
  const scanner = new QueryScanner(text, 'order')
  const terms: OrderTerm[] = []
  do {
    const path = readColumnPath(scanner)
    const direction = scanner.take(/\.(asc|desc)(?=[.,]|$)/y)?.[1] ?? 'asc'
    const nulls = scanner.take(/\.nulls(first|last)(?=,|$)/y)?.[1]
    terms.push({ path, direction: direction as OrderTerm['direction'], nulls: nulls as OrderTerm['nulls'] })
  } while (scanner.accept(','))
  scanner.end()
  return terms
}

/** ` order by …`, or nothing. */
export function orderSql(terms: readonly OrderTerm[], source: ColumnSource, parameters: SqlParameters): string {
  if (terms.length === 0) return ''
  const list = terms.map(({ path, direction, nulls }) => {
    return `${columnSql(path, source, parameters)} ${direction}${nulls === undefined ? '' : ` nulls ${nulls}`}`
  })
  return ` order by ${list.join(', ')}`
}
