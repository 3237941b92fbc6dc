import type { Sql } from '../database/sql.ts'
import { type ListedQueue, type QueueTrouble, queueTroubles, readQueues } from './queue-list.ts'
import { readWorkers } from './worker-list.ts'

/** How a database is, at one glance. */
export interface DatabaseOverview {
  /** Open runs by status and the last hour minute by minute, over both placements. */
  readonly runs: RunFigures
  readonly queuesInTrouble: readonly (ListedQueue & { readonly troubles: readonly QueueTrouble[] })[]
  readonly liveWorkers: number
  readonly runners: { readonly live: number; readonly capacity: number; readonly runs: number }
  /** How far the warm tier is behind; null where runs are not mirrored. */
  readonly outbox: { readonly unapplied: number; readonly oldestMs: number; readonly asOf: string } | null
  /** Open runs without a next actor: there should be none. */
  readonly livenessProblems: readonly { readonly run_id: string; readonly reason: string }[]
}

export interface RunFigures {
  readonly asOf: string
  readonly open: { readonly queued: number; readonly running: number; readonly paused: number }
  readonly minutes: readonly { readonly at: string; readonly started: number; readonly failed: number }[]
  readonly openWaits: number
}

const MAX_WORKERS = 10_000

/** Reads the figures of all workspaces, or the runs of one. */
export async function readOverview(sql: Sql, workspaceId?: string): Promise<DatabaseOverview> {
  const workspace = workspaceId ?? null
  const [[figures], [runners], [outbox], livenessProblems] = await Promise.all([
    sql<[{ runs: RunFigures }]>`select starflow.run_statistics(${workspace}) as runs`,
    sql<[DatabaseOverview['runners']]>`
      select count(*)::integer as live, coalesce(sum(capacity), 0)::integer as capacity, coalesce(sum(runs), 0)::integer as runs
      from starflow.list_runners() where is_live`,
    sql<{ unapplied: number; oldestMs: number; asOf: Date }[]>`
      select (fresh + late + overdue)::integer as unapplied, oldest_ms::float8 as "oldestMs", as_of as "asOf"
      from starflow.outbox_lag() where starflow._is_mirrored()`,
    sql<{ run_id: string; reason: string }[]>`select * from starflow.audit_liveness(${workspace})`,
  ])
  const queues = await readQueues(sql)
  const workers = await readWorkers(sql, { all: false, limit: MAX_WORKERS })
  return {
    runs: figures.runs,
    queuesInTrouble: queues
      .map((queue) => ({ ...queue, troubles: queueTroubles(queue) }))
      .filter(({ troubles }) => troubles.length > 0),
    liveWorkers: workers.filter(({ state }) => state === 'live').length,
    ...{ runners, outbox: outbox === undefined ? null : { ...outbox, asOf: outbox.asOf.toISOString() } },
    livenessProblems,
  }
}
