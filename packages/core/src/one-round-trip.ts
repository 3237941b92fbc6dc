import type { Sql } from 'postgres'

/** What a hot call passes: JSON travels as text. */
type CallValue = string | number | null

/**
 * A tag that runs a statement in one round trip, whether or not the connection prepares statements. Without preparing (through a
 * transaction pooler) the driver asks for the types of parameters before it sends them, which is a second round trip; so
 * there the values are written into the statement as literals, and it has no parameters.
 */
export function inOneRoundTrip<TRow extends object>(
  sql: Sql,
): (strings: TemplateStringsArray, ...values: readonly CallValue[]) => Promise<readonly TRow[]> {
  return async (strings, ...values) => {
    // The client of a transaction has no options, whatever its type says: there it is the driver's way.
    if ((sql as Partial<Sql>).options?.prepare !== false) return await sql<TRow[]>(strings, ...values)
    const statement = strings.reduce((text, part, index) => text + sqlLiteral(values[index - 1]!) + part)
    return await sql.unsafe<TRow[]>(statement)
  }
}

/**
 * A value as SQL source. The escape form of a string means the same whatever `standard_conforming_strings` says. It must
 * hold no NUL, which Postgres cannot take in any form.
 */
export function sqlLiteral(value: CallValue): string {
  if (value === null) return 'null'
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is no number that SQL knows.`)
    return String(value)
  }
  return ` E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
