import { type ColumnPath, readColumnPath } from './column-path.ts'
import { QUOTED, QueryScanner, withoutEscapes } from './query-scanner.ts'
import { RestError } from './rest-error.ts'

/** What a row has to fulfil. */
export type Condition = Comparison | Junction

export interface Comparison {
  readonly kind: 'comparison'
  readonly path: ColumnPath
  readonly isNegated: boolean
  readonly operator: Operator
  /** `eq(any)`, `like(all)`: the value is an array, of which any or all have to fit. */
  readonly quantifier?: 'any' | 'all' | undefined
  /** `fts(english)`: the configuration of a text search. */
  readonly configuration?: string | undefined
  readonly value: string | readonly string[]
}

export interface Junction {
  readonly kind: 'and' | 'or'
  readonly isNegated: boolean
  readonly conditions: readonly Condition[]
}

/** How an operator reads its value, and what it is in SQL. */
type OperatorRule =
  | { readonly takes: 'value'; readonly sql: string; readonly isQuantifiable?: true; readonly isPattern?: true }
  | { readonly takes: 'list' | 'constant' }
  | { readonly takes: 'search'; readonly parser: string }

/** The operators of PostgREST. */
export const OPERATORS = {
  eq: { takes: 'value', sql: '=', isQuantifiable: true },
  neq: { takes: 'value', sql: '<>' },
  gt: { takes: 'value', sql: '>', isQuantifiable: true },
  gte: { takes: 'value', sql: '>=', isQuantifiable: true },
  lt: { takes: 'value', sql: '<', isQuantifiable: true },
  lte: { takes: 'value', sql: '<=', isQuantifiable: true },
  like: { takes: 'value', sql: 'like', isQuantifiable: true, isPattern: true },
  ilike: { takes: 'value', sql: 'ilike', isQuantifiable: true, isPattern: true },
  match: { takes: 'value', sql: '~', isQuantifiable: true },
  imatch: { takes: 'value', sql: '~*', isQuantifiable: true },
  isdistinct: { takes: 'value', sql: 'is distinct from' },
  cs: { takes: 'value', sql: '@>' },
  cd: { takes: 'value', sql: '<@' },
  ov: { takes: 'value', sql: '&&' },
  sl: { takes: 'value', sql: '<<' },
  sr: { takes: 'value', sql: '>>' },
  nxr: { takes: 'value', sql: '&<' },
  nxl: { takes: 'value', sql: '&>' },
  adj: { takes: 'value', sql: '-|-' },
  in: { takes: 'list' },
  is: { takes: 'constant' },
  fts: { takes: 'search', parser: 'to_tsquery' },
  plfts: { takes: 'search', parser: 'plainto_tsquery' },
  phfts: { takes: 'search', parser: 'phraseto_tsquery' },
  wfts: { takes: 'search', parser: 'websearch_to_tsquery' },
} as const satisfies Readonly<Record<string, OperatorRule>>

export type Operator = keyof typeof OPERATORS

const LOGIC_KEY = /^(not\.)?(and|or)$/

/** One pair of the query: `age=gte.18`, `or=(age.gte.18,parent.is.not_null)`. */
export function parseFilter(key: string, text: string): Condition {
  const logic = LOGIC_KEY.exec(key)
  if (logic !== null) {
    const scanner = new QueryScanner(text, 'logic tree')
    if (!scanner.accept('(')) scanner.fail('"("')
    const junction = readJunction(scanner, logic[2] as Junction['kind'], logic[1] !== undefined)
    scanner.end()
    return junction
  }
  const keyScanner = new QueryScanner(key, 'filter')
  const path = readColumnPath(keyScanner)
  if (keyScanner.accept('.')) throw notEmbedded(path.column)
  keyScanner.end()
  const scanner = new QueryScanner(text, 'filter')
  const comparison = readComparison(scanner, path, readWholeValue)
  scanner.end()
  return comparison
}

/** After its opening parenthesis. */
function readJunction(scanner: QueryScanner, kind: Junction['kind'], isNegated: boolean): Junction {
  const conditions: Condition[] = []
  do {
    conditions.push(readTerm(scanner))
  } while (scanner.accept(','))
  if (!scanner.accept(')')) scanner.fail('"," or ")"')
  return { kind, isNegated, conditions }
}

function readTerm(scanner: QueryScanner): Condition {
  const logic = scanner.take(/ *(not\.)?(and|or)\(/y)
  if (logic !== undefined) return readJunction(scanner, logic[2] as Junction['kind'], logic[1] !== undefined)
  const path = readColumnPath(scanner)
  if (!scanner.accept('.')) scanner.fail('"."')
  return readComparison(scanner, path, readPartOfTree)
}

function readComparison(
  scanner: QueryScanner,
  path: ColumnPath,
  readValue: (scanner: QueryScanner) => string,
): Comparison {
  const isNegated = scanner.accept('not.')
  const [, name, modifier] = scanner.take(/([a-z]+)(?:\(([A-Za-z_]+)\))?(?=\.)/y) ?? []
  if (name === undefined || !Object.hasOwn(OPERATORS, name)) return scanner.fail('"not" or an operator (eq, gt, ...)')
  const operator = name as Operator
  const rule: OperatorRule = OPERATORS[operator]
  const quantifier = modifier === 'any' || modifier === 'all' ? modifier : undefined
  const fits =
    modifier === undefined ||
    rule.takes === 'search' ||
    (rule.takes === 'value' && rule.isQuantifiable === true && quantifier !== undefined)
  if (!fits) scanner.fail('an operator that can be modified so')
  scanner.accept('.')
  return {
    kind: 'comparison',
    path,
    isNegated,
    operator,
    quantifier: rule.takes === 'value' ? quantifier : undefined,
    configuration: rule.takes === 'search' ? modifier : undefined,
    value: rule.takes === 'list' ? readList(scanner) : readValue(scanner),
  }
}

function readWholeValue(scanner: QueryScanner): string {
  return scanner.takeRest()
}

/** Inside a tree a value ends at a comma or a parenthesis, unless quotes or the braces of an array hold it together. */
function readPartOfTree(scanner: QueryScanner): string {
  const quoted = scanner.take(QUOTED_PART)?.[1]
  if (quoted !== undefined) return withoutEscapes(quoted)
  return scanner.take(ARRAY)?.[0] ?? scanner.take(/[^,)]*/y)![0]
}

function readList(scanner: QueryScanner): string[] {
  if (!scanner.accept('(')) scanner.fail('"("')
  if (scanner.accept(')')) return []
  const items: string[] = []
  do {
    const quoted = scanner.take(QUOTED_PART)?.[1]
    items.push(quoted === undefined ? scanner.take(/[^,)]*/y)![0] : withoutEscapes(quoted))
  } while (scanner.accept(','))
  if (!scanner.accept(')')) scanner.fail('"," or ")"')
  return items
}

const QUOTED_PART = new RegExp(`${QUOTED.source}(?=[,)])`, QUOTED.flags)
// An array of arrays at most: deeper ones come in quotes.
const ARRAY = /\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}(?=[,)])/suy

function notEmbedded(name: string): RestError {
  return new RestError({
    status: 400,
    code: 'PGRST108',
    message: `'${name}' is not an embedded resource in this request`,
    hint: 'The local platform serves no embedded resources. Query a view or call a function instead.',
  })
}
