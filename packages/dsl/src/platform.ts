/**
 * The place where a platform registers the real types of what it puts into the context. `@starflow/edge-worker` does it:
 * with it in the program, `ctx.sql` is `postgres.Sql` and `ctx.supabase` a `SupabaseClient` in every flow file, and this
 * package needs neither library. Without it they have the structural types below, which are a part of the real ones.
 *
 * @example
 * declare module '@starflow/dsl' {
 *   interface PlatformTypes { sql: Sql; transaction: TransactionSql; supabase: SupabaseClient }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface PlatformTypes {}

/** The type of `ctx.sql`. */
export type PlatformSql = PlatformTypes extends { sql: infer TSql } ? TSql : SqlTag

/** The type of `ctx.tx` in a transactional step. */
export type PlatformTransaction = PlatformTypes extends { transaction: infer TTransaction } ? TTransaction : SqlTag

/** The type of `ctx.supabase`. */
export type PlatformSupabase = PlatformTypes extends { supabase: infer TSupabase } ? TSupabase : SupabaseLike

/** The part of postgres.js that a flow can rely on without knowing its types. */
export interface SqlTag {
  <TRows extends readonly (object | undefined)[] = SqlRow[]>(
    template: TemplateStringsArray,
    ...parameters: readonly unknown[]
  ): Promise<TRows>
  (values: object | readonly unknown[], ...columns: readonly string[]): SqlFragment
  json(value: unknown): SqlFragment
  unsafe<TRows extends readonly (object | undefined)[] = SqlRow[]>(
    query: string,
    parameters?: readonly unknown[],
  ): Promise<TRows>
  begin<TResult>(body: (sql: SqlTag) => Promise<TResult> | TResult): Promise<TResult>
}

/** A value that only makes sense inside a query. */
export interface SqlFragment {
  readonly value?: unknown
}

export type SqlRow = Record<string, unknown>

/** The part of supabase-js that a flow can rely on without knowing its types. */
export interface SupabaseLike {
  rpc(name: string, parameters?: object): PromiseLike<{ data: unknown; error: { message: string } | null }>
}
