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
