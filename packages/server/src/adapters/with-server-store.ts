import type { Sql } from '@starflow/core'
import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import type { ServerStore } from '../store/server-store.ts'
import { PostgresServerStore } from './postgres-server-store.ts'
import { directFunctions } from './sql-functions.ts'
import { SqliteServerStore } from './sqlite-server-store.ts'

/** Uses the store of a server for one piece of work: over a connection that there is, or in the file of a local one. */
export async function withServerStore<T>(
  where: { readonly sql: Sql } | { readonly sqlitePath: string },
  work: (store: ServerStore) => Promise<T>,
): Promise<T> {
  if ('sql' in where) return await work(new PostgresServerStore(directFunctions(where.sql)))
  // It marks the file as ours before anything else is in it.
  const adapter = await LocalWorkflowStateAdapter.open({ path: where.sqlitePath })
  const store = new SqliteServerStore(where.sqlitePath)
  try {
    return await work(store)
  } finally {
    await store.close()
    await adapter.close()
  }
}
