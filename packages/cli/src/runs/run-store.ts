import { relative } from 'node:path'
import type { OpenHandlersSql } from '@starflow/edge-worker'
import { type EngineOptions, type QueueingStateAdapter, requireSubstrate, type Substrate } from '@starflow/engine'
import { isStarflowError } from '@starflow/errors'
import { checkSameDatabase } from './same-database.ts'
import { withTracing } from './traced-start.ts'
import { readWaitTokenKey, type WaitTokenKeySource } from './wait-token-key.ts'

/** Where runs are kept, opened, with what an engine on it needs. */
export interface RunStore {
  readonly adapter: QueueingStateAdapter
  /** For messages: the file, or the URL of the project. */
  readonly place: string
  /** False where nothing is left when the process ends. */
  readonly isKept: boolean
  /** What handlers are given besides, and who is told of their spans. */
  readonly resources: Pick<EngineOptions, 'lendSql' | 'tracing'>
  readonly waitTokenKey: WaitTokenKeySource
  /** The id of the database, where runs are kept in one that is reached over an API. */
  readonly databaseId?: () => Promise<string>
}

export interface RunStoreOptions {
  /** Keeps nothing. */
  readonly memory?: boolean
  /** True where handlers run: they get a connection to the database, if one is named. */
  readonly executes?: boolean
}

/** Handlers of one process share these. */
const HANDLER_CONNECTIONS = 4

/**
 * Opens the store that the environment names, for as long as `work` takes: the only place of the command line that knows
 * adapters. Each is loaded when it is the one.
 *
 * @throws StarflowError SF822 for an environment that names none, SF821 for a file that cannot be used; for handlers also SF913
 * where the connection leads to another database than the API, SF631 where it leads to none, SF403 where it leads to one
 * without Starflow
 */
export async function withRunStore<T>(
  work: (store: RunStore) => Promise<T>,
  options: RunStoreOptions = {},
): Promise<T> {
  const { env } = process
  return await withTracing(async (tracing) => {
    const { store, close } = options.memory
      ? await openMemory(env)
      : await openStore(requireSubstrate(env), env, options.executes === true)
    try {
      return await work({ ...store, resources: { ...store.resources, tracing } })
    } finally {
      await close()
    }
  })
}

interface OpenedStore {
  readonly store: RunStore
  close(): Promise<void>
}

async function openMemory(env: NodeJS.ProcessEnv): Promise<OpenedStore> {
  return await openFile(':memory:', { place: 'memory', isKept: false, waitTokenKey: readWaitTokenKey(env, 'passing') })
}

async function openStore(substrate: Substrate, env: NodeJS.ProcessEnv, executes: boolean): Promise<OpenedStore> {
  if (substrate.kind === 'sqlite') {
    const { path } = substrate
    const place = relative(process.cwd(), path) || path
    return await openFile(path, { place, isKept: true, waitTokenKey: readWaitTokenKey(env, { besides: path }) })
  }
  const { SupabaseWorkflowStateAdapter } = await import('@starflow/engine/adapters/supabase')
  const { url, key } = substrate
  const databaseUrl = env.SUPABASE_DB_URL?.trim() || undefined
  const listenOn =
    databaseUrl === undefined
      ? undefined
      : (await import('../database/open-database.ts')).connect(databaseUrl, 'starflow queue listener', {
          connections: 1,
        })
  const adapter = SupabaseWorkflowStateAdapter.open({ supabaseUrl: url, serviceRoleKey: key, listenOn })
  const databaseId = () => adapter.databaseId()
  const handlers = executes && databaseUrl !== undefined ? await connectHandlers(databaseUrl, databaseId) : undefined
  return {
    store: {
      ...{ adapter, place: url, isKept: true, waitTokenKey: readWaitTokenKey(env, 'required'), databaseId },
      resources: handlers === undefined ? {} : { lendSql: handlers.lend },
    },
    close: async () => {
      await adapter.close()
      await handlers?.close(1_000)
    },
  }
}

/**
 * What a worker's handlers get. Before anything runs it is looked whether it leads to the database of the runs.
 */
export async function connectHandlers(
  databaseUrl: string,
  databaseId: () => Promise<string>,
): Promise<OpenHandlersSql> {
  const [{ openHandlersSql }, { connect, unreachable }, { isMissingInSchema, notMigrated }, id] = await Promise.all([
    import('@starflow/edge-worker'),
    import('../database/open-database.ts'),
    import('../database/not-migrated.ts'),
    databaseId(),
  ])
  const sql = connect(databaseUrl, 'starflow', { connections: 1 })
  try {
    await checkSameDatabase({ databaseId: id, sql })
    return await openHandlersSql(sql, databaseUrl, { connections: HANDLER_CONNECTIONS, name: 'starflow handlers' })
  } catch (error) {
    if (isStarflowError(error, 'SF913')) throw error
    if (isMissingInSchema(error)) throw notMigrated(`SUPABASE_DB_URL: ${error.message}`, error)
    throw unreachable(databaseUrl, error)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function openFile(path: string, traits: Omit<RunStore, 'adapter' | 'resources'>): Promise<OpenedStore> {
  const { LocalWorkflowStateAdapter } = await import('@starflow/engine/adapters/local')
  const adapter = await LocalWorkflowStateAdapter.open({ path })
  return { store: { adapter, resources: {}, ...traits }, close: () => adapter.close() }
}
