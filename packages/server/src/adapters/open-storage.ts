import { type Database, openDatabase, parseDatabaseUrl } from '@starflow/core'
import { openMirroring, type QueueingStateAdapter } from '@starflow/engine'
import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import {
  PostgresMirrorSource,
  PostgresWarmTier,
  RestApi,
  requireSameDatabase,
  SupabaseWorkflowStateAdapter,
} from '@starflow/engine/adapters/supabase'
import type { Storage } from '../config.ts'
import type { WorkerJobs } from '../jobs/worker-jobs.ts'
import type { LiveMarksSource } from '../live/live-marks.ts'
import type { MetricsSource } from '../metrics/metrics-source.ts'
import type { Tiers } from '../mirror/mirror.ts'
import { DATABASE_CONNECTIONS, METRICS_TIMEOUT_MS, MIRROR_CONNECTIONS, READY_TIMEOUT_MS } from '../numbers.ts'
import type { RunStatistics } from '../overview/run-statistics.ts'
import type { QueueOperations } from '../runs/queue-operations.ts'
import type { RunPlacement } from '../runs/run-placement.ts'
import type { AlertStore } from '../store/alert-store.ts'
import type { ServerStore } from '../store/server-store.ts'
import type { TriggerStore } from '../store/trigger-store.ts'
import { PostgresAlertStore } from './postgres-alert-store.ts'
import { PostgresServerStore } from './postgres-server-store.ts'
import { PostgresTriggerStore } from './postgres-trigger-store.ts'
import { QueuePlacement } from './queue-placement.ts'
import { directFunctions, restFunctions } from './sql-functions.ts'
import { SqlLiveMarks } from './sql-live-marks.ts'
import { SqlMetricsSource } from './sql-metrics-source.ts'
import { SqlQueueOperations } from './sql-queue-operations.ts'
import { SqlRunStatistics } from './sql-run-statistics.ts'
import { SqlWorkerJobs } from './sql-worker-jobs.ts'
import { SqliteAlertStore } from './sqlite-alert-store.ts'
import { SqliteLiveMarks } from './sqlite-live-marks.ts'
import { SqliteMetricsSource } from './sqlite-metrics-source.ts'
import { SqliteRunStatistics } from './sqlite-run-statistics.ts'
import { SqliteServerStore } from './sqlite-server-store.ts'
import { SqliteTriggerStore } from './sqlite-trigger-store.ts'

/** Everything of a server that is kept somewhere. */
export interface OpenStorage {
  readonly adapter: QueueingStateAdapter
  readonly store: ServerStore
  readonly triggers: TriggerStore
  readonly databaseId: string
  readonly alerts: AlertStore
  readonly metrics: MetricsSource
  readonly statistics: RunStatistics
  readonly liveMarks: LiveMarksSource
  /** Undefined where there are no step queues. */
  readonly queues: { readonly placement: RunPlacement; readonly operations: QueueOperations } | undefined
  /** Undefined where external workers cannot reach any. */
  readonly workerJobs: WorkerJobs | undefined
  /** What a mirror is made of; undefined where there can be none. Opens no connection before it is used. */
  readonly tiers: MirrorableTiers | undefined
  /** Whether everything can be reached and written; rejects where it cannot. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** The two sides of a mirror, and the way to switch it on. */
export interface MirrorableTiers extends Tiers {
  /** The adapter whose writes are mirrored; progress that cannot be sent is said. */
  openMirroring(onProgressFailure: (error: unknown) => void): Promise<QueueingStateAdapter>
}

/**
 * Opens what the configuration names, and looks whether it is there.
 *
 * @throws StarflowError SF821 for a file, SF911 for an API that does not answer, SF913 for two databases
 */
export async function openStorage(storage: Storage, applicationName: string): Promise<OpenStorage> {
  return storage.substrate === 'sqlite' ? await openSqlite(storage.path) : await openSupabase(storage, applicationName)
}

async function openSqlite(path: string): Promise<OpenStorage> {
  // It comes first: it marks the file as ours.
  const adapter = await LocalWorkflowStateAdapter.open({ path })
  const store = new SqliteServerStore(path)
  const triggers = new SqliteTriggerStore(path)
  const alerts = new SqliteAlertStore(path, adapter)
  const metrics = new SqliteMetricsSource(path, adapter)
  const statistics = new SqliteRunStatistics(path)
  const liveMarks = new SqliteLiveMarks(path)
  const close = async () => {
    metrics.close()
    alerts.close()
    statistics.close()
    liveMarks.close()
    await triggers.close()
    await store.close()
    await adapter.close()
  }
  return {
    adapter,
    store,
    triggers,
    alerts,
    metrics,
    statistics,
    liveMarks,
    queues: undefined,
    workerJobs: undefined,
    tiers: undefined,
    databaseId: await store.databaseId(),
    probe: () => adapter.checkWritable(),
    close,
  }
}

async function openSupabase(
  storage: Extract<Storage, { substrate: 'supabase' }>,
  applicationName: string,
): Promise<OpenStorage> {
  const access = { supabaseUrl: storage.url, serviceRoleKey: storage.key }
  const api = new RestApi(access)
  const metricsApi = new RestApi({ ...access, timeoutMs: METRICS_TIMEOUT_MS })
  const probeApi = new RestApi({ ...access, timeoutMs: READY_TIMEOUT_MS })
  const functions = restFunctions(api)
  const store = new PostgresServerStore(functions)
  const databaseId = await store.databaseId()
  const sql =
    storage.databaseUrl === undefined ? undefined : connect(storage.databaseUrl, applicationName, DATABASE_CONNECTIONS)
  try {
    if (sql !== undefined) await requireSameDatabase({ databaseId, sql })
  } catch (error) {
    await sql?.end({ timeout: 1 })
    throw error
  }
  // One way less, where there is a connection.
  const direct = sql === undefined ? functions : directFunctions(sql)
  const adapter = SupabaseWorkflowStateAdapter.open({
    ...access,
    listenOn:
      storage.databaseUrl === undefined ? undefined : connect(storage.databaseUrl, 'starflow queue listener', 1),
  })
  const warm = new PostgresWarmTier(access)
  const source =
    storage.databaseUrl === undefined
      ? undefined
      : new PostgresMirrorSource(connect(storage.databaseUrl, 'starflow mirror', MIRROR_CONNECTIONS))
  return {
    ...{ adapter, store, triggers: new PostgresTriggerStore(functions), databaseId },
    workerJobs: new SqlWorkerJobs(functions),
    alerts: new PostgresAlertStore(functions),
    statistics: new SqlRunStatistics(direct),
    liveMarks: new SqlLiveMarks(direct),
    metrics: new SqlMetricsSource(restFunctions(metricsApi)),
    tiers: source && {
      ...{ source, warm },
      openMirroring: (onProgressFailure) => openMirroring(adapter, { warm, onProgressFailure }),
    },
    queues: sql && { placement: new QueuePlacement(sql), operations: new SqlQueueOperations(sql) },
    probe: async () => {
      await Promise.all([restFunctions(probeApi)('database_id', {}), sql?.unsafe('select 1')])
    },
    close: async () => {
      for (const connected of [api, metricsApi, probeApi, warm]) connected.close()
      await adapter.close()
      await source?.close()
      await sql?.end({ timeout: 1 })
    },
  }
}

function connect(url: string, applicationName: string, connections: number): Database {
  // Unprepared: the URL may lead through a transaction pooler.
  return openDatabase(parseDatabaseUrl(url, process.env), { applicationName, connections, prepare: false })
}
