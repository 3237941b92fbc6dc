import { appendEvent, endRun, updateRun } from './run-changes.ts'
import { findRun, hasEnded } from './run-fence.ts'
import type { Transaction } from './state-database.ts'

export function cancelRun(transaction: Transaction, runId: string, reason: string): boolean {
  const run = findRun(transaction, runId)
  if (hasEnded(run)) return false
  endRun(transaction, run, { status: 'cancelled', claim_state: 'complete' })
  updateRun(transaction, runId, { leased_by: null, lease_until: null })
  appendEvent(transaction, runId, 'run_cancelled', { reason })
  return true
}

export function retryRun(transaction: Transaction, runId: string): boolean {
  const { now } = transaction
  const run = findRun(transaction, runId)
  if (run.status !== 'error' && run.status !== 'cancelled') return false
  // A payload that came in stays: somebody has given it.
  transaction.run(`delete from workflow_waits where run_id = :runId and status in ('open', 'timed_out')`, { runId })
  updateRun(transaction, runId, {
    status: 'queued',
    claim_state: 'queued',
    claim_state_at: now,
    leased_by: null,
    lease_until: null,
    queued_at: now,
    available_at: now,
    error: null,
    completed_at: null,
    cancelled_at: null,
    duration_ms: null,
  })
  appendEvent(transaction, runId, 'run_retried')
  transaction.wakeRunners()
  return true
}
