import type { Sql } from 'postgres'
import type { WorkerEventBody } from './events.ts'
import type { Platform } from './platform.ts'
import type { LazySupabaseClient } from './supabase-client.ts'
import type { ResolvedWorkerConfig } from './worker-config.ts'
import type { WorkerConnections } from './worker-connections.ts'
import type { WorkerSql } from './worker-sql.ts'

/** What a worker lends to its work. */
export interface WorkResources {
  readonly workerId: string
  /** On the worker's own connection. */
  readonly sql: WorkerSql
  /** `ctx.sql`, or what refuses in its place. */
  readonly handlersSql: Sql
  /** Makes the SQL client of a connection. */
  readonly connect: (sql: WorkerConnections['own']) => Pick<WorkerSql, 'settleTasks'>
  readonly supabase: LazySupabaseClient
  readonly platform: Platform
  readonly settings: ResolvedWorkerConfig
  readonly shutdownSignal: AbortSignal
  readonly emit: (event: WorkerEventBody) => void
  /** Sleeps while the worker starts; rejects when the start is no longer wanted. */
  readonly sleep: (ms: number) => Promise<void>
}
