import { parseExactJson } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import pg from 'pg'
import { parseArray, serializeArray } from './array-text.ts'

type Parse = (text: string) => unknown

/** Day and month of other styles are told apart by none. Sessions of ours say ISO; through a transaction pooler it is the database's word. */
const asDate: Parse = (text) => {
  if (/^\d\d\d\d/.test(text) || text.endsWith('infinity')) return new Date(text)
  throw new StarflowError({
    code: 'SF423',
    message: 'The database writes dates in a style other than ISO.',
    detail: `Through a transaction pooler its DateStyle counts, and day and month of "${text}" cannot be told apart.`,
    hint: "alter database <name> set datestyle = 'ISO', and end the sessions of the pooler; or connect directly.",
  })
}
const asText: Parse = (text) => text

/** What JavaScript has for a type and loses nothing by, with the ids of the type and its array. Everything else is text. */
const PARSED: readonly (readonly [type: number, array: number, parse: Parse])[] = [
  // boolean, bytea
  [16, 1000, (text) => text === 't'],
  [17, 1001, pg.types.getTypeParser(17)],
  // smallint, integer, oid, real, double precision
  [21, 1005, Number],
  [23, 1007, Number],
  [26, 1028, Number],
  [700, 1021, Number],
  [701, 1022, Number],
  // json, jsonb
  [114, 199, parseExactJson],
  [3802, 3807, parseExactJson],
  // date, timestamp, timestamptz
  [1082, 1182, asDate],
  [1114, 1115, asDate],
  [1184, 1185, asDate],
  // text, varchar, char, name, uuid, bigint, numeric, time, interval
  [25, 1009, asText],
  [1043, 1015, asText],
  [1042, 1014, asText],
  [19, 1003, asText],
  [2950, 2951, asText],
  [20, 1016, asText],
  [1700, 1231, asText],
  [1083, 1183, asText],
  [1186, 1187, asText],
]

const PARSERS: ReadonlyMap<number, Parse> = new Map(
  PARSED.flatMap(([type, array, parse]) => [
    [type, parse],
    [array, (text: string) => parseArray(text, (element) => parse(element))],
  ]),
)

/** The parsers of a client, in the driver's form. Its own are one table for the whole process, which others may have changed. */
export const COLUMN_TYPES = {
  getTypeParser: (type: number) => PARSERS.get(type) ?? asText,
} as pg.CustomTypesConfig

/** An array of a type, read from text and written as text: what a postgres.js client has to be told. */
export interface ArrayType {
  /** The id of the array's type. */
  readonly id: number
  readonly parse: (text: string) => unknown
  readonly serialize: (value: unknown) => unknown
}

/** The arrays of these types, given by the ids of type and array, and of those that every Postgres has. */
export function arrayTypes(ofDatabase: readonly (readonly [type: number, array: number])[]): readonly ArrayType[] {
  const arrays = new Map(PARSED.map(([type, array]) => [array, type]))
  for (const [type, array] of ofDatabase) arrays.set(array, type)
  return [...arrays].map(([id, type]) => {
    // What handlers ask for is read as the driver reads it.
    const parse = isJson(type) ? JSON.parse : (PARSERS.get(type) ?? asText)
    const write = isJson(type) ? JSON.stringify : written
    const delimiter = id === BOX_ARRAY ? ';' : ','
    return {
      id,
      parse: (text) => parseArray(text, (element) => parse(element), delimiter),
      serialize: (value) => serializeArray(value, write, delimiter),
    }
  })
}

/** The only type whose elements are not separated by commas, since they have commas themselves. */
const BOX_ARRAY = 1020

const isJson = (type: number) => type === 114 || type === 3802

function written(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array)
    return `\\x${Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
