import { parseExactJson } from '@starflow/dsl'
import type { Sql } from 'postgres'

const JSON_TYPE = 114
const JSONB_TYPE = 3802

/**
 * Reads json and jsonb columns without rounding a number (see parseExactJson). For clients of our own code: handlers get what the
 * driver makes of their rows.
 */
export function withExactJson(client: Sql): Sql {
  // Its connections are there already, and keep this very object.
  const { parsers } = client.options as unknown as { parsers: Record<number, (text: string) => unknown> }
  Object.assign(parsers, { [JSON_TYPE]: parseExactJson, [JSONB_TYPE]: parseExactJson })
  return client
}
