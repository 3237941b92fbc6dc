import { dirname } from 'node:path'
import {
  arrayTypes,
  CONNECT_TIMEOUT_MS,
  type Sql as CoreSql,
  type Database,
  type DatabaseAddress,
  type DatabaseOptions,
  openDatabase,
  parseDatabaseUrl,
} from '@starflow/core'
import type { StarflowError } from '@starflow/errors'
import postgres, { type Sql } from 'postgres'
import {
  GivenHandlersSql,
  type HandlersSql,
  type LentSql,
  RefusedHandlersSql,
  ReplacedHandlersSql,
} from './handlers-sql.ts'
import { SPARE_IDLE_MS } from './numbers.ts'
import type { WorkerConnection } from './worker-config.ts'

/** The database connections of one worker, or of several that share them. */
export interface WorkerConnections {
  /** Of the workers themselves: polls and heartbeats. Handlers cannot hold them. */
  readonly own: Database
  /** One more for a heartbeat that a slow poll holds up, opened for it; undefined when `maxPgConnections` leaves it none. */
  readonly spare: Database | undefined
  /** `ctx.sql` */
  readonly handlers: HandlersSql
  /** Whether statements are prepared. */
  readonly prepared: boolean
  /** Ends what was opened here, waiting `timeoutMs` at most for queries under way. */
  close(timeoutMs: number): Promise<void>
}

export interface ConnectionLimits {
  /** How long a call of the worker's own may take. Default 30 s. */
  readonly callTimeoutMs?: number
  /** How many connections carry the workers' own calls. Default 1. */
  readonly ownConnections?: number
  readonly connectTimeoutMs?: number
  readonly onTimeout?: (timeout: StarflowError) => void
}

/** Opens connections: `ownConnections` for the workers' calls, one more for a heartbeat, and `maxPgConnections - 1` for handlers (see HandlersSql). */
export function openConnections(
  source: WorkerConnection & { readonly databaseUrl: string | undefined },
  maxPgConnections: number,
  applicationName: string,
  { ownConnections = 1, ...limits }: ConnectionLimits = {},
): WorkerConnections {
  const name = applicationName.slice(0, 63)
  const given = source.sql
  const address = given === undefined ? addressOf(source) : givenAddress(given)
  const prepare = given === undefined ? !address.isTransactionPooler : given.options.prepare !== false
  const open = (options: Partial<DatabaseOptions>) =>
    openDatabase(address, { ...limits, ...options, applicationName: name, prepare })
  const own = open({ connections: ownConnections })
  const spare = maxPgConnections > 1 ? open({ idleTimeoutMs: SPARE_IDLE_MS }) : undefined
  const handlers = handlersSql(given, address, { connections: maxPgConnections - 1, prepare, name })
  return {
    own,
    spare,
    handlers,
    prepared: prepare,
    close: async (timeoutMs) => {
      const timeout = timeoutMs / 1000
      await Promise.allSettled([own.end({ timeout }), spare?.end({ timeout }), handlers.close(timeoutMs)])
    },
  }
}

function handlersSql(
  given: Sql | undefined,
  address: DatabaseAddress,
  client: { readonly connections: number; readonly prepare: boolean; readonly name: string },
): HandlersSql {
  if (given !== undefined) return new GivenHandlersSql(given)
  if (client.connections < 1) return new RefusedHandlersSql()
  return new ReplacedHandlersSql(client.connections, (options) => openHandlersClient(address, client, options))
}

/** A postgres.js client for handlers, by parts. It is ended by its owner, and not by itself when it was idle or grew old. */
function openHandlersClient<TTypes extends Record<string, postgres.PostgresType>>(
  { host, port, user, password, database, tls }: DatabaseAddress,
  { prepare, name }: { readonly prepare: boolean; readonly name: string },
  options: Pick<postgres.Options<TTypes>, 'max' | 'onclose' | 'types'>,
): Sql {
  const client = postgres({
    ...{ host, port, user, password, database, prepare },
    ssl: tls === 'disable' ? false : tls === 'verify-ca' ? { checkServerIdentity: () => undefined } : tls,
    // Through a transaction pooler the session is given to others between two queries: none may be sent behind another.
    ...(prepare ? {} : { max_pipeline: 0 }),
    connect_timeout: CONNECT_TIMEOUT_MS / 1000,
    idle_timeout: 0,
    max_lifetime: null,
    // Asked for by the driver, they end the process when the connection is lost at that moment.
    fetch_types: false,
    // Notices may speak of data; nothing of ours raises them for the log.
    onnotice: () => {},
    connection: { application_name: name },
    ...(options as object),
  })
  return client as Sql
}

function addressOf(source: WorkerConnection & { readonly databaseUrl: string | undefined }): DatabaseAddress {
  const url = source.connectionString ?? source.databaseUrl
  if (url === undefined) throw new Error('A worker without a database URL cannot have been admitted.')
  return parseDatabaseUrl(url)
}

/** The parts of a client that was given, for a connection of our own. */
function givenAddress({ options }: Sql): DatabaseAddress {
  const { path, pass, ssl, database, user } = options as typeof options & { path?: string | false }
  return {
    host: path ? dirname(path) : (options.host[0] ?? 'localhost'),
    port: options.port[0] ?? 5432,
    user,
    password: pass ?? '',
    database,
    tls: ssl === true ? 'require' : ssl ? (ssl === 'allow' ? 'prefer' : ssl) : 'disable',
    isTransactionPooler: false,
  }
}

/** Where attempts of a process that runs handlers without a worker get their `ctx.sql`. */
export interface OpenHandlersSql {
  lend(signal: AbortSignal): LentSql
  close(timeoutMs: number): Promise<void>
}

/**
 * Opens what a worker's handlers get, for a runner: replaced when it is dead, never ended by a handler, and each attempt's own.
 *
 * @param core is asked for the types of the database, so that handlers read arrays
 */
export async function openHandlersSql(
  core: CoreSql,
  databaseUrl: string,
  client: { readonly connections: number; readonly name: string },
): Promise<OpenHandlersSql> {
  const address = parseDatabaseUrl(databaseUrl)
  const handlers = new ReplacedHandlersSql(client.connections, (options) =>
    openHandlersClient(address, { ...client, prepare: !address.isTransactionPooler }, options),
  )
  // Of the catalog only: the role of handlers may have no right to more.
  const types = await core<{ type: number; array: number }[]>`
    select e.oid as type, e.typarray as array from pg_catalog.pg_type e
    join pg_catalog.pg_type a on a.oid = e.typarray where a.typcategory = 'A'`
  handlers.readArrays(arrayTypes(types.map(({ type, array }) => [type, array])))
  return { lend: (signal) => handlers.lend(signal), close: (timeoutMs) => handlers.close(timeoutMs) }
}
