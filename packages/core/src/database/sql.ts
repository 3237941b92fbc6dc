/** What a statement can be given; an array becomes an array of Postgres, JSON is given as text. */
export type SqlValue =
  | null
  | string
  | number
  | boolean
  | Date
  | Uint8Array
  | readonly (string | number | boolean | null)[]

// biome-ignore lint/suspicious/noExplicitAny: what a statement answers is known to its caller only.
export type SqlRow = Record<string, any>

/**
 * Runs statements: a {@link Database}, one of its transactions, or a postgres.js client, whose tag means the same.
 *
 *     const [row] = await sql<[{ name: string }]>`select name from users where id = ${id}`
 *
 * Values are parameters, never text of the statement. int8 and numeric are strings, json is parsed, times are Dates.
 */
export interface Sql {
  <TRows extends readonly (object | undefined)[] = SqlRow[]>(
    strings: TemplateStringsArray,
    ...values: readonly SqlValue[]
  ): Promise<TRows>
  /** Runs a text with `$1` and so on. Without values it may hold several statements. */
  // biome-ignore lint/suspicious/noExplicitAny: the type of the rows is said by the caller, as in postgres.js.
  unsafe<TRows extends any[] = SqlRow[]>(text: string, values?: SqlValue[]): Promise<TRows>
}
