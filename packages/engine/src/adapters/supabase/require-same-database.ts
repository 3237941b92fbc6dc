import type { Sql } from '@starflow/core'
import { StarflowError } from '@starflow/errors'

/** Two ways to what should be one database: the API of a project, by the id that it gave, and a connection. */
export interface TwoWays {
  readonly databaseId: string
  readonly sql: Sql
  /** Where the connection's URL was given, for the message. */
  readonly urlSource?: string
}

/**
 * Looks whether both ways lead to one database. Runs that are queued in one and looked for in another would vanish without a
 * word, and what handlers write would lie in the other.
 *
 * @throws StarflowError SF913 where they do not; and what the connection fails with
 */
export async function requireSameDatabase({ databaseId, sql, urlSource = 'SUPABASE_DB_URL' }: TwoWays): Promise<void> {
  const [row] = await sql<[{ databaseId: string }]>`select starflow.database_id() as "databaseId"`
  if (row.databaseId === databaseId) return
  throw new StarflowError({
    code: 'SF913',
    message: `SUPABASE_URL and ${urlSource} are different databases.`,
    detail: `The ids of the databases are ${databaseId} and ${row.databaseId}.`,
    hint: 'Correct one of the two.',
  })
}
