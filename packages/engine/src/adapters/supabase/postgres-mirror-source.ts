import type { Database, Sql } from '@starflow/core'
import type { MirroredRun, RunSnapshot } from '../../mirror/live-run.ts'
import type {
  MirrorChange,
  MirrorLag,
  MirrorSource,
  RefusedChange,
  SetAsideChange,
} from '../../mirror/mirror-source.ts'
import { DRAIN_PATIENCE_MS } from '../../numbers.ts'

interface ChangeRow extends Omit<MirrorChange, 'runId' | 'createdAt'> {
  readonly run_id: string | null
  readonly created_at: string
}

interface LagRow {
  readonly fresh: string
  readonly late: string
  readonly overdue: string
  readonly oldest_ms: string
  readonly as_of: string
}

interface SnapshotRow {
  readonly run_id: string
  readonly run: MirroredRun
  readonly active_nodes: RunSnapshot['activeNodes']
  readonly is_pending: boolean
}

/**
 * The outbox of a database, on connections of its own: a transaction holds what was taken until it is applied, which no sequence of
 * calls over REST can. Not through a transaction pooler's statement mode.
 */
export class PostgresMirrorSource implements MirrorSource {
  readonly #sql: Database
  readonly #patienceMs: number

  /**
   * @param sql with three connections or more: one drains, the others are for what is read meanwhile. Ended by `close`.
   * @param patienceMs after which what this process has taken is given back when it hangs
   */
  constructor(sql: Database, patienceMs = DRAIN_PATIENCE_MS) {
    this.#sql = sql
    this.#patienceMs = patienceMs
  }

  async drain(
    limit: { readonly runs: number; readonly changes: number },
    apply: (changes: readonly MirrorChange[]) => Promise<readonly RefusedChange[]>,
  ): Promise<readonly MirrorChange[]> {
    return await this.#sql.begin(async (sql) => {
      // What was taken is given back when this process hangs; each call to the warm tier has a limit.
      await sql`select set_config('idle_in_transaction_session_timeout', ${String(this.#patienceMs)}, true)`
      const rows = await sql<ChangeRow[]>`
        select id::text, run_id, kind, payload, to_jsonb(created_at) #>> '{}' as created_at
        from starflow.take_outbox(${limit.runs}, ${limit.changes})`
      const changes = rows.map(({ id, run_id, kind, payload, created_at }) => ({
        ...{ id, runId: run_id, kind, payload, createdAt: created_at },
      }))
      if (changes.length === 0) return changes
      for (const { id, reason } of await this.#keepingOpen(sql, () => apply(changes)))
        await sql`select starflow.refuse_outbox(${id}, ${reason})`
      await sql`select starflow.mark_outbox_applied(${changes.map(({ id }) => id)}::bigint[])`
      return changes
    })
  }

  /** Finding the refused among many takes a call for each half: the transaction is idle meanwhile, and not given up. */
  async #keepingOpen<T>(transaction: Sql, work: () => Promise<T>): Promise<T> {
    // A failure fails the transaction, which says so by itself.
    const ping = setInterval(() => void transaction`select`.catch(() => {}), this.#patienceMs / 3)
    try {
      return await work()
    } finally {
      clearInterval(ping)
    }
  }

  async lag({ warnMs, pageMs }: { readonly warnMs: number; readonly pageMs: number }): Promise<MirrorLag> {
    const [row] = await this.#sql<[LagRow]>`
      select fresh, late, overdue, oldest_ms, to_jsonb(as_of) #>> '{}' as as_of from starflow.outbox_lag(${warnMs}, ${pageMs})`
    return {
      fresh: Number(row.fresh),
      late: Number(row.late),
      overdue: Number(row.overdue),
      oldestMs: Number(row.oldest_ms),
      asOf: row.as_of,
    }
  }

  async refused(limit: number): Promise<readonly SetAsideChange[]> {
    const rows = await this.#sql<
      (Omit<SetAsideChange, 'runId' | 'createdAt'> & { run_id: string; created_at: string })[]
    >`
      select id::text, run_id, kind, reason, to_jsonb(created_at) #>> '{}' as created_at from starflow.list_refused_outbox(${limit})`
    return rows.map(({ run_id, created_at, ...row }) => ({ ...row, runId: run_id, createdAt: created_at }))
  }

  async prune(olderThanMs: number): Promise<number> {
    const [row] = await this.#sql<[{ pruned: number }]>`select starflow.prune_outbox(${olderThanMs}) as pruned`
    return row.pruned
  }

  async recentRuns(sinceMs: number): Promise<readonly string[]> {
    const rows = await this.#sql<{ run_id: string }[]>`select r as run_id from starflow.recent_runs(${sinceMs}) r`
    return rows.map(({ run_id }) => run_id)
  }

  async snapshots(runIds: readonly string[]): Promise<readonly RunSnapshot[]> {
    const rows = await this.#sql<SnapshotRow[]>`
      select run_id, run, active_nodes, is_pending from starflow.mirror_snapshots(${runIds}::uuid[])`
    return rows.map(({ run_id, run, active_nodes, is_pending }) => ({
      ...{ runId: run_id, run, activeNodes: active_nodes, isPending: is_pending },
    }))
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: 1 })
  }
}
