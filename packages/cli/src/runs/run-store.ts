import { relative } from 'node:path'
import { type EngineOptions, type QueueingStateAdapter, requireSubstrate, type Substrate } from '@starflow/engine'
import postgres from 'postgres'
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
  readonly resources: Pick<EngineOptions, 'sql' | 'tracing'>
  readonly waitTokenKey: WaitTokenKeySource
}

/** Handlers of one process share these. */
const HANDLER_CONNECTIONS = 4

/**
 * Opens the store that the environment names, for as long as `work` takes: the only place of the command line that knows
 * adapters. Each is loaded when it is the one.
 *
 * @throws StarflowError SF822 for an environment that names none, SF821 for a file that cannot be used
 */
export async function withRunStore<T>(work: (store: RunStore) => Promise<T>, options = { memory: false }): Promise<T> {
  const { env } = process
  return await withTracing(async (tracing) => {
    const { store, close } = options.memory ? await openMemory(env) : await openStore(requireSubstrate(env), env)
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

async function openStore(substrate: Substrate, env: NodeJS.ProcessEnv): Promise<OpenedStore> {
  if (substrate.kind === 'sqlite') {
    const { path } = substrate
    const place = relative(process.cwd(), path) || path
    return await openFile(path, { place, isKept: true, waitTokenKey: readWaitTokenKey(env, { besides: path }) })
  }
  const { SupabaseWorkflowStateAdapter } = await import('@starflow/engine/adapters/supabase')
  const { url, key } = substrate
  const databaseUrl = env.SUPABASE_DB_URL?.trim() || undefined
  const adapter = SupabaseWorkflowStateAdapter.open({ supabaseUrl: url, serviceRoleKey: key, databaseUrl })
  // It connects when a handler uses it.
  const sql = databaseUrl && postgres(databaseUrl, { max: HANDLER_CONNECTIONS, prepare: false, onnotice: () => {} })
  return {
    store: {
      ...{ adapter, place: url, isKept: true, waitTokenKey: readWaitTokenKey(env, 'required') },
      resources: sql ? { sql } : {},
    },
    close: async () => {
      await adapter.close()
      if (sql) await sql.end({ timeout: 1 })
    },
  }
}

async function openFile(path: string, traits: Omit<RunStore, 'adapter' | 'resources'>): Promise<OpenedStore> {
  const { LocalWorkflowStateAdapter } = await import('@starflow/engine/adapters/local')
  const adapter = await LocalWorkflowStateAdapter.open({ path })
  return { store: { adapter, resources: {}, ...traits }, close: () => adapter.close() }
}
