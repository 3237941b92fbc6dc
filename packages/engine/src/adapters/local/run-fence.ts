import { StarflowError } from '@starflow/errors'
import { ENDED_STATUSES, type RunClaim } from '../../run-record.ts'
import { instant, type RunRow } from './run-row.ts'
import type { Transaction } from './state-database.ts'

/** Whoever writes a run: with the claim that it was bound to, or without one. */
export type Writer = RunClaim | undefined

export function hasEnded(run: RunRow): boolean {
  return ENDED_STATUSES.includes(run.status)
}

/** The row, whoever asks. */
export function findRun(transaction: Transaction, runId: string): RunRow {
  const run = transaction.first<RunRow>('select * from workflow_runs where id = :runId', { runId })
  if (run !== undefined) return run
  throw new StarflowError({
    code: 'SF802',
    message: `Run ${runId} does not exist.`,
    detail: 'This state file keeps no run of that id.',
    hint: 'Check the id, and that this is the file of the run.',
    fields: { runId },
  })
}

/** How the journal comes to a run: by its claim, and before its end. */
export function openRun(transaction: Transaction, writer: Writer, runId: string): RunRow {
  const run = findRun(transaction, runId)
  checkClaim(run, writer)
  refuseEnd(run)
  return run
}

/**
 * With a claim, that must be the current one of the run; without, nobody may hold the run. That a lease is over ends no claim:
 * only the sweep does, or whoever cancels the run.
 */
export function checkClaim(run: RunRow, writer: Writer): void {
  if (writer === undefined) {
    if (run.leased_by !== null) throw heldBySomebody(run)
  } else if (
    writer.runId !== run.id ||
    writer.runnerId !== run.leased_by ||
    writer.claimAttempts !== run.claim_attempts
  ) {
    throw claimLost(run, writer)
  }
}

export function refuseEnd(run: RunRow): void {
  if (!hasEnded(run)) return
  throw new StarflowError({
    code: 'SF801',
    message: `Run ${run.id} has ended.`,
    detail: `Its status is ${run.status}. Ends are final.`,
    hint: 'Stop executing the run. A failed or cancelled one can be retried.',
    fields: { runId: run.id },
  })
}

/** Whether this claim was the last one of the run, and was given up or taken away since: giving it up again has no effect. */
export function isSpent(run: RunRow, writer: Writer): boolean {
  return run.leased_by === null && writer?.runId === run.id && writer.claimAttempts === run.claim_attempts
}

function heldBySomebody(run: RunRow): StarflowError {
  return new StarflowError({
    code: 'SF801',
    message: `Run ${run.id} is held by runner "${run.leased_by}".`,
    detail: `Its claim is ${run.claim_attempts}, until ${instant(run.lease_until)} or longer. This write came without a claim.`,
    hint: 'Write with that claim, or wait until the run is given up.',
    fields: { runId: run.id, leasedBy: run.leased_by, claimAttempts: run.claim_attempts },
  })
}

function claimLost(run: RunRow, claim: RunClaim): StarflowError {
  const holder = run.leased_by === null ? 'nobody' : `"${run.leased_by}"`
  return new StarflowError({
    code: 'SF801',
    message: `Runner "${claim.runnerId}" no longer holds run ${run.id}.`,
    detail:
      `It came with claim ${claim.claimAttempts} of run ${claim.runId}. The run is ${run.status} (${run.claim_state}), ` +
      `its claim ${run.claim_attempts}, held by ${holder}.`,
    hint: 'Stop executing the run. Whoever holds it goes on with it.',
    fields: { runId: run.id, runnerId: claim.runnerId, claimAttempts: claim.claimAttempts },
  })
}
