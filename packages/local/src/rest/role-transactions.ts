import pg, { type PoolClient } from 'pg'
import type { ApiCaller } from '../access/api-caller.ts'
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
const ACQUIRE_TIMEOUT_MS = 10_000

/**
 * Runs each request in a transaction of its own as the role of its caller: the connections belong to `authenticator`, which
 * has no rights but to become one of the API roles. What is set here ends with the transaction.
 */
export class RoleTransactions {
  readonly #pool: pg.Pool
  readonly #active = new Set<PoolClient>()

  /** `url` is the database as `authenticator`. */
  constructor(url: string) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      application_name: 'rest',
      // A statement whose caller is gone ends within a second, instead of at its timeout.
      options: '-c client_connection_check_interval=1000',
    })
    // A connection that is lost, idle or under a request, is replaced; the statement that it breaks tells its own request.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
    this.#pool.on('error', () => {})
  }

  async run<T>(context: RequestContext, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    this.#active.add(client)
    let isBroken = false
    try {
      await client.query(context.isReadOnly ? 'begin read only' : 'begin')
      await client.query(PRELUDE, preludeOf(context))
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(() => {
        isBroken = true
      })
      throw error
    } finally {
      this.#active.delete(client)
      client.release(isBroken)
    }
  }

  /** Breaks off what runs, and settles when no connection is open. */
  async stop(): Promise<void> {
    if (this.#pool.ending) return
    const ended = this.#pool.end()
    for (const client of this.#active) client.connection.stream.destroy()
    await ended
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
