import { ConnectionLosses, loadArrayTypes, pausingClient, unpipelinedClient, withExactJson } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import postgres, { type Sql } from 'postgres'
import type { WorkerConnection } from './worker-config.ts'

/** The database connections of one worker. */
export interface WorkerConnections {
  /** One connection, the worker's own: polls and heartbeats. Handlers cannot hold it. */
  readonly own: Sql
  /**
   * `ctx.sql`; opens nothing before a handler uses it. Undefined when `maxPgConnections` leaves it none. It asks the database
   * for its types first, since handlers read arrays; the worker's own calls need none.
   */
  readonly handlers: Sql | undefined
  /** Whether statements are prepared. */
  readonly prepared: boolean
  /** Ends what was opened here, waiting `timeoutMs` at most for queries under way. */
  close(timeoutMs: number): Promise<void>
}

/** Opens the connections that a worker may have: `maxPgConnections` in all, one of them its own. */
export function openConnections(
  source: WorkerConnection & { readonly databaseUrl: string | undefined },
  maxPgConnections: number,
  applicationName: string,
): WorkerConnections {
  const losses = new ConnectionLosses()
  const options = {
    idle_timeout: 20,
    connect_timeout: 10,
    // Notices may speak of data; nothing of ours raises them for the log.
    onnotice: () => {},
    connection: { application_name: applicationName.slice(0, 63) },
  }
  if (source.sql !== undefined) {
    const given = source.sql
    const prepared = given.options.prepare !== false
    // Parsed options are options again; only their types say otherwise.
    const parsed = given.options as unknown as postgres.Options<Record<string, postgres.PostgresType>>
    // Parsers of its own: those of the given client are for what handlers ask.
    const parsers = { ...given.options.parsers }
    const own = postgres({
      ...parsed,
      ...options,
      parsers,
      idle_timeout: undefined,
      max: 1,
      fetch_types: false,
    } as typeof parsed)
    return {
      own: pausingClient(unpipelinedClient(withExactJson(own)), losses),
      handlers: pausingClient(unpipelinedClient(given), losses),
      prepared,
      close: (timeoutMs) => end(timeoutMs, own),
    }
  }
  const url = source.connectionString ?? source.databaseUrl
  if (url === undefined) throw new Error('A worker without a database URL cannot have been admitted.')
  const { cleanUrl, isTransactionPooler } = parseDatabaseUrl(url)
  const prepare = !isTransactionPooler
  const own = client(cleanUrl, { ...options, prepare, max: 1, idle_timeout: undefined, fetch_types: false })
  const handlers =
    maxPgConnections > 1
      ? client(cleanUrl, { ...options, prepare, max: maxPgConnections - 1, fetch_types: false })
      : undefined
  return {
    own: pausingClient(unpipelinedClient(withExactJson(own)), losses),
    handlers: handlers && pausingClient(unpipelinedClient(handlers), losses, loadArrayTypes),
    prepared: prepare,
    close: (timeoutMs) => end(timeoutMs, own, ...(handlers === undefined ? [] : [handlers])),
  }
}

/**
 * Tells a transaction pooler by its port (6543) or by `pgbouncer=true`, and takes out that parameter: it is a note to
 * the client, which a server would refuse as an unknown setting.
 */
export function parseDatabaseUrl(url: string): { cleanUrl: string; isTransactionPooler: boolean } {
  const [base = '', query = ''] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  const noted = parameters.get('pgbouncer') === 'true'
  for (const note of ['pgbouncer', 'connection_limit', 'pool_timeout']) parameters.delete(note)
  const rest = parameters.toString()
  return {
    cleanUrl: rest === '' ? base : `${base}?${rest}`,
    isTransactionPooler: noted || /:6543(\/|,|$)/.test(base),
  }
}

/** Stands in for `ctx.sql` where handlers have no connection: using it says why. */
export function refusedSql(): Sql {
  const refuse = (): never => {
    throw new StarflowError({
      code: 'SF406',
      message: 'ctx.sql has no connection: maxPgConnections is 1, and the worker keeps one for itself.',
      detail: 'Claims and heartbeats must not wait for handlers.',
      hint: 'Set maxPgConnections to 2 or more.',
    })
  }
  return new Proxy(refuse, { apply: refuse, get: refuse }) as unknown as Sql
}

function client(url: string, options: postgres.Options<Record<string, never>>): Sql {
  try {
    return postgres(url, options)
  } catch {
    // Without the cause: some runtimes repeat the URL in it, with its password.
    throw new StarflowError({
      code: 'SF001',
      message: 'The database URL is not valid.',
      detail: 'It is not repeated here, since it may hold a password.',
      hint: 'It looks like postgres://user:password@host:5432/database; special characters in the password are percent-encoded.',
    })
  }
}

async function end(timeoutMs: number, ...clients: Sql[]): Promise<void> {
  await Promise.allSettled(clients.map((client) => client.end({ timeout: timeoutMs / 1000 })))
}
