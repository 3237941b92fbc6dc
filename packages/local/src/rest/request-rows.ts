import { RestError } from './rest-error.ts'

/** The rows of a body: their JSON as it came, which keeps numbers of any length, and the names of their columns. */
export interface RequestRows {
  /** A JSON array. */
  readonly json: string
  readonly columns: readonly string[]
}

/** An object, or an array of objects that have the same keys. `columns`: those of the query, which count instead. */
export function parseRequestRows(body: string, columns: readonly string[] | undefined): RequestRows {
  const value = parseJsonBody(body)
  const rows = Array.isArray(value) ? value : [value]
  if (!rows.every(isObject)) throw invalidBody('Empty or invalid json')
  const json = Array.isArray(value) ? body : `[${body}]`
  if (columns !== undefined) return { json, columns: [...new Set(columns)] }
  const keys = Object.keys(rows[0] ?? {})
  const isUniform = rows.every((row) => {
    return Object.keys(row).length === keys.length && keys.every((key) => Object.hasOwn(row, key))
  })
  if (!isUniform) throw invalidBody('All object keys must match')
  return { json, columns: keys }
}

/** PGRST102 for what is no JSON. */
export function parseJsonBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw invalidBody('Empty or invalid json')
  }
}

/** PGRST102, with what is wrong. */
export function invalidBody(message: string): RestError {
  return new RestError({ status: 400, code: 'PGRST102', message })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
