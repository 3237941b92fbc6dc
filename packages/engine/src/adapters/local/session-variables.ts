import type { Json } from '@starflow/dsl'
import { openRun, type Writer } from './run-fence.ts'
import { json } from './run-row.ts'
import type { Transaction } from './state-database.ts'

export function getVariable(transaction: Transaction, sessionId: string, key: string): Json | null {
  const kept = transaction.first<{ value_json: string }>(
    `select value_json from workflow_session_vars
     where session_id = :sessionId and key = :key and (keep_until is null or keep_until > :now)`,
    { sessionId, key, now: transaction.now },
  )
  return kept === undefined ? null : json(kept.value_json)
}

export function setVariable(
  transaction: Transaction,
  writer: Writer,
  sessionId: string,
  key: string,
  value: Json,
  { runId, keepForMs }: { readonly runId: string; readonly keepForMs?: number | undefined },
): void {
  openRun(transaction, writer, runId)
  const { now } = transaction
  transaction.run(
    `insert into workflow_session_vars (session_id, key, value_json, run_id, keep_until, updated_at)
     values (:sessionId, :key, :value, :runId, :keepUntil, :now)
     on conflict (session_id, key) do update set
       value_json = excluded.value_json, run_id = excluded.run_id, keep_until = excluded.keep_until, updated_at = excluded.updated_at`,
    {
      sessionId,
      key,
      value: JSON.stringify(value),
      runId,
      keepUntil: keepForMs === undefined ? null : now + keepForMs,
      now,
    },
  )
}

export function collectVariables(transaction: Transaction): number {
  return transaction.run('delete from workflow_session_vars where keep_until <= :now', { now: transaction.now })
}
