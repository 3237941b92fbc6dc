import { type Condition, parseFilter } from './filter-grammar.ts'
import { type OrderTerm, parseOrderList } from './order-list.ts'
import { QueryScanner } from './query-scanner.ts'
import { RestError } from './rest-error.ts'
import { parseSelectList, type SelectItem } from './select-list.ts'

/** The query string, parsed. */
export interface RestQuery {
  readonly select: readonly SelectItem[]
  readonly conditions: readonly Condition[]
  readonly order: readonly OrderTerm[]
  readonly range: RowRange
  /** The columns of a write, which others of its body are left out of. */
  readonly columns: readonly string[] | undefined
  /** The columns of the constraint that an upsert goes by. */
  readonly onConflict: readonly string[] | undefined
}

/** Which rows of the result are wanted. */
export interface RowRange {
  readonly offset: number
  readonly limit: number | undefined
}

/** Not conditions. `apikey` is the gateway's. */
const KEYWORDS = new Set(['select', 'order', 'limit', 'offset', 'columns', 'on_conflict', 'apikey'])

export function parseRestQuery(pairs: readonly (readonly [string, string])[], rangeHeader?: RowRange): RestQuery {
  const last = (key: string) => pairs.findLast(([each]) => each === key)?.[1]
  const columns = last('columns')
  const onConflict = last('on_conflict')
  return {
    select: parseSelectList(last('select') ?? '*'),
    conditions: pairs.filter(([key]) => !KEYWORDS.has(key)).map(([key, text]) => parseFilter(key, text)),
    order: parseOrderList(last('order') ?? ''),
    range: intersection({ offset: offsetOf(last('offset')), limit: limitOf(last('limit')) }, rangeHeader),
    columns: columns === undefined ? undefined : parseNames(columns, 'columns parameter'),
    onConflict: onConflict === undefined ? undefined : parseNames(onConflict, 'on_conflict parameter'),
  }
}

/** The header `Range: 0-9`, with both ends counted in. One that cannot be read is no range. */
export function parseRangeHeader(header: string | undefined): RowRange | undefined {
  const [, first, end] = /^(?:items=)?(\d{1,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === undefined || end === undefined) return undefined
  if (end !== '' && Number(end) < Number(first)) {
    throw outOfRange('The lower boundary must be lower than or equal to the upper boundary in the Range header.')
  }
  return { offset: Number(first), limit: end === '' ? undefined : Number(end) - Number(first) + 1 }
}

/** PGRST103, with the reason. */
export function outOfRange(details: string): RestError {
  return new RestError({ status: 416, code: 'PGRST103', message: 'Requested range not satisfiable', details })
}

function parseNames(text: string, subject: string): string[] {
  const scanner = new QueryScanner(text, subject)
  const names: string[] = []
  if (scanner.isAtEnd) return names
  do {
    names.push(scanner.takeName('a column name'))
  } while (scanner.accept(','))
  scanner.end()
  return names
}

function limitOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const limit = integer(text, 'limit')
  if (limit < 0) throw outOfRange('Limit should be greater than or equal to zero.')
  return limit
}

function offsetOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0
  const offset = integer(text, 'offset')
  if (offset < 0) throw outOfRange('Offset should be greater than or equal to zero.')
  return offset
}

function integer(text: string, subject: string): number {
  if (!/^-?\d{1,15}$/.test(text)) new QueryScanner(text, `${subject} parameter`).fail('an integer')
  return Number(text)
}

function intersection(range: RowRange, header: RowRange | undefined): RowRange {
  if (header === undefined) return range
  const offset = Math.max(range.offset, header.offset)
  const ends = [range, header].flatMap((each) => (each.limit === undefined ? [] : [each.offset + each.limit]))
  return { offset, limit: ends.length === 0 ? undefined : Math.max(0, Math.min(...ends) - offset) }
}
