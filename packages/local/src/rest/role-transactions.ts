import type { PoolClient } from 'pg'
import type { ApiCaller } from '../access/api-caller.ts'
import { TransactionPool } from '../database/transaction-pool.ts'
import { quoteIdentifier } from './sql-text.ts'

/** For whom a transaction is, and what its functions and policies may ask about the request. */
export interface RequestContext {
  readonly caller: ApiCaller
  readonly searchPath: readonly string[]
  readonly isReadOnly: boolean
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
}

const MAX_CONNECTIONS = 10

/**
 * Runs each request in a transaction of its own as the role of its caller: the connections belong to `authenticator`, which
 * has no rights but to become one of the API roles. What is set here ends with the transaction.
 */
export class RoleTransactions {
  readonly #pool: TransactionPool

  /** `url` is the database as `authenticator`. */
  constructor(url: string) {
    this.#pool = new TransactionPool({ url, name: 'rest', maxConnections: MAX_CONNECTIONS })
  }

  run<T>(context: RequestContext, work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#pool.run(
      async (client) => {
        await client.query(PRELUDE, preludeOf(context))
        return work(client)
      },
      { isReadOnly: context.isReadOnly },
    )
  }

  /** Breaks off what runs, and settles when no connection is open. */
  stop(): Promise<void> {
    return this.#pool.stop()
  }
}

// Only a login applies the settings of a role, so its statement timeout is looked up: 3 s for anon, 8 s for
// authenticated. A role without one keeps that of authenticator.
const PRELUDE = `
  select set_config('search_path', $1, true), set_config('request.jwt.claims', $3, true),
    set_config('request.method', $4, true), set_config('request.path', $5, true),
    set_config('request.headers', $6, true),
    (select set_config('statement_timeout', split_part(setting, '=', 2), true)
     from pg_db_role_setting
     join pg_roles on pg_roles.oid = setrole and rolname = $2
     cross join unnest(setconfig) as setting
     where setdatabase in (0, (select oid from pg_database where datname = current_database()))
       and setting like 'statement\\_timeout=%'
     order by setdatabase desc limit 1),
    set_config('role', $2, true)`

function preludeOf({ caller, searchPath, method, path, headers }: RequestContext): string[] {
  const schemas = [...new Set(searchPath)].map(quoteIdentifier).join(', ')
  return [schemas, caller.role, JSON.stringify(caller.claims), method, path, JSON.stringify(headers)]
}
