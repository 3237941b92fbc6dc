import type { Sql } from '@starflow/core'
import type { WorkerEventBody } from './events.ts'
import type { HandlersSql } from './handlers-sql.ts'
import type { Platform } from './platform.ts'
import type { LazySupabaseClient } from './supabase-client.ts'
import type { ResolvedWorkerConfig } from './worker-config.ts'
import type { WorkerSql } from './worker-sql.ts'

/** What a worker lends to its work. */
export interface WorkResources {
  readonly workerId: string
  /** On the worker's own connection. */
  readonly sql: WorkerSql
  /** Lends `ctx.sql`. */
  readonly handlersSql: HandlersSql
  /** Makes the SQL client of a connection. */
  readonly connect: (sql: Sql) => Pick<WorkerSql, 'settleTasks'>
  readonly supabase: LazySupabaseClient
  readonly platform: Platform
  readonly settings: ResolvedWorkerConfig
  readonly shutdownSignal: AbortSignal
  readonly emit: (event: WorkerEventBody) => void
  /** Sleeps while the worker starts; rejects when the start is no longer wanted. */
  readonly sleep: (ms: number) => Promise<void>
}
