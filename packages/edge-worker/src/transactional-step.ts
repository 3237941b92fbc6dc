import type { Sql, TransactionSql } from 'postgres'
import { MAX_TIMER_MS } from './numbers.ts'
import { WorkerShutdownError } from './worker-shutdown-error.ts'

export interface TransactionalRun {
  /** The handlers' connections. */
  readonly sql: Sql
  /** The attempt's signal. */
  readonly signal: AbortSignal
  /** How long the attempt may take. */
  readonly timeoutSeconds: number
  readonly handler: (tx: TransactionSql) => unknown
  /** Reports the attempt in the transaction; answers why the report is refused, or undefined. */
  readonly settle: (tx: TransactionSql, output: unknown) => Promise<string | undefined>
}

/** The end of an attempt that its own transaction has told: completed, or refused for a reason and rolled back. */
export class SettledInTransaction {
  readonly refusal: string | undefined

  constructor(refusal: string | undefined) {
    this.refusal = refusal
  }
}

/**
 * Runs a handler in a transaction that also reports its end, and commits only when that report is accepted. So its effects
 * and its task's completion are there together, or neither is:
 *
 * - Until the commit everything is rolled back: by a handler that throws, a timeout, a lost connection, a killed process.
 * - A report is refused when the task is not this attempt's any more. Nothing is committed then.
 * - Postgres itself ends a statement, or a transaction that is left idle, a second after the attempt's timeout: a stopped process or a host that
 *   vanished holds its locks, which the next attempt may need, no longer than that.
 * - If the connection is lost while the commit is under way, nobody here knows which it was. The failure that is reported
 *   then waits for the transaction's lock on the run, and is refused if it did commit.
 */
export async function runInTransaction(run: TransactionalRun): Promise<SettledInTransaction> {
  const { sql, signal, timeoutSeconds, handler, settle } = run
  const limit = String(Math.min((timeoutSeconds + 1) * 1000, MAX_TIMER_MS))
  try {
    await sql.begin(async (tx) => {
      await tx`select set_config('statement_timeout', ${limit}, true), set_config('idle_in_transaction_session_timeout', ${limit}, true)`
      const output = await handler(tx)
      throwIfTimedOut(signal)
      const refusal = await settle(tx, output)
      if (refusal !== undefined) throw new RefusedReport(refusal)
      throwIfTimedOut(signal)
    })
    return new SettledInTransaction(undefined)
  } catch (error) {
    if (error instanceof RefusedReport) return new SettledInTransaction(error.refusal)
    throw error
  }
}

class RefusedReport extends Error {
  readonly refusal: string

  constructor(refusal: string) {
    super(refusal)
    this.refusal = refusal
  }
}

/** An attempt that took too long has failed, whatever it did at last. One that a shutdown hurries may still make it. */
function throwIfTimedOut(signal: AbortSignal): void {
  if (signal.aborted && !(signal.reason instanceof WorkerShutdownError)) throw signal.reason
}
