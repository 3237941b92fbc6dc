import type { Sql } from 'postgres'

/**
 * Teaches a client to read and write arrays of every type that the database has, as the driver does with `fetch_types`.
 *
 * Why not the driver: where a connection is lost under its question for the types, nobody handles that rejection, which ends
 * the process or isolate; and it is not asked again, so that arrays are text from then on. Here the query that needed the
 * types fails, and the next one asks again.
 */
export async function loadArrayTypes(client: Sql): Promise<void> {
  const types = await client.unsafe<{ element: number; array: number }[]>(`
    select distinct e.oid as element, e.typarray as array
    from pg_catalog.pg_type a join pg_catalog.pg_type e on e.oid = a.typelem
    where a.typcategory = 'A' and e.typarray <> 0`)
  learn(client, types)
}

/**
 * The same for the types that every Postgres has, which need no question: their ids are always these. For clients of our
 * own code, made with `fetch_types: false`; a client for handlers meets the types of its application too.
 */
export function withBuiltInArrays(client: Sql): Sql {
  learn(
    client,
    BUILT_IN_ARRAYS.map(([element, array]) => ({ element, array })),
  )
  return client
}

function learn(client: Sql, types: readonly { readonly element: number; readonly array: number }[]): void {
  const { parsers, serializers, shared } = client.options as unknown as DriverTypes
  for (const { element, array } of types) {
    if (parsers[array] !== undefined && serializers[array] !== undefined) continue
    const delimiter = array === BOX_ARRAY ? ';' : ','
    const parse = parsers[element] ?? ((text: string) => text)
    shared.typeArrayMap[element] = array
    parsers[array] = (text) => parseArray(text, parse, delimiter)
    serializers[array] = (value) => serializeArray(value, serializers[element] ?? String, delimiter)
  }
}

/** What we touch of the driver's parsed options; its version is pinned, and a test fails if this changes. */
interface DriverTypes {
  readonly parsers: Record<number, (text: string) => unknown>
  readonly serializers: Record<number, (value: unknown) => unknown>
  readonly shared: { readonly typeArrayMap: Record<number, number> }
}

/** Of each type its id and that of its array. */
const BUILT_IN_ARRAYS: readonly (readonly [element: number, array: number])[] = [
  // boolean, smallint, integer, bigint, real, double precision, numeric
  ...([
    [16, 1000],
    [21, 1005],
    [23, 1007],
    [20, 1016],
    [700, 1021],
    [701, 1022],
    [1700, 1231],
  ] as const),
  // text, varchar, char, name, uuid, json, jsonb, bytea, oid
  ...([
    [25, 1009],
    [1043, 1015],
    [1042, 1014],
    [19, 1003],
    [2950, 2951],
  ] as const),
  ...([
    [114, 199],
    [3802, 3807],
    [17, 1001],
    [26, 1028],
  ] as const),
  // date, time, timestamp, timestamptz, interval
  ...([
    [1082, 1182],
    [1083, 1183],
    [1114, 1115],
    [1184, 1185],
    [1186, 1187],
  ] as const),
]

/** The only type whose elements are not separated by commas, since they have commas themselves. */
const BOX_ARRAY = 1020

/** Reads `{1,NULL,"a \"b\"",{…}}`; bounds in front (`[0:1]={…}`) are left out. */
export function parseArray(text: string, parse: (element: string) => unknown, delimiter = ','): unknown[] {
  let at = text.indexOf('{')
  const readArray = (): unknown[] => {
    const elements: unknown[] = []
    at++
    while (text[at] !== '}') {
      elements.push(text[at] === '{' ? readArray() : text[at] === '"' ? parse(readQuoted()) : readPlain())
      if (text[at] === delimiter) at++
    }
    at++
    return elements
  }
  const readQuoted = (): string => {
    let element = ''
    for (at++; text[at] !== '"'; at++) element += text[at] === '\\' ? text[++at] : text[at]
    at++
    return element
  }
  const readPlain = (): unknown => {
    const start = at
    while (text[at] !== delimiter && text[at] !== '}') at++
    const element = text.slice(start, at)
    return element === 'NULL' ? null : parse(element)
  }
  return readArray()
}

/** Writes a list as Postgres reads it; what is no list is a literal already. */
export function serializeArray(value: unknown, serialize: (element: unknown) => unknown, delimiter = ','): unknown {
  if (!Array.isArray(value)) return value
  const elements = value.map((element) => {
    if (Array.isArray(element)) return serializeArray(element, serialize, delimiter)
    if (element === null) return 'NULL'
    return `"${String(serialize(element)).replace(/[\\"]/g, '\\$&')}"`
  })
  return `{${elements.join(delimiter)}}`
}
