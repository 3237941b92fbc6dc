import { StarflowError } from '@starflow/errors'

/** Anything that is not an answer of the server, and the answers with which it hangs up. */
export function isConnectionLoss(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  if (severity === 'FATAL' || severity === 'PANIC' || code === 'SF418') return true
  return typeof code === 'string' && (/^(08|57P0[1-5])/.test(code) || isSocketError(code))
}

/** Of a driver's connection or of the system (ECONNRESET). Complaints about calls have codes too. */
const isSocketError = (code: string) => /^(CONNECTION_|CONNECT_TIMEOUT|E[A-Z]+$|ERR_)/.test(code)

/** @returns SF418 for a call that was not answered within its limit */
export function databaseTimeout(timeoutMs: number): StarflowError {
  return new StarflowError({
    code: 'SF418',
    message: `The database did not answer within ${timeoutMs / 1000} s.`,
    detail: 'The connection was given up. Whether what was asked for has been done is not known.',
    hint: 'See whether the database is overloaded or waits for a lock (pg_stat_activity), and whether the network loses connections.',
    fields: { timeoutMs },
  })
}

/** What the driver says without a code when a connection is gone or could not be made. */
export function connectionLost(cause: unknown): Error {
  const message = `The connection to the database was lost: ${(cause as Error).message}.`
  return Object.assign(new Error(message, { cause }), { code: 'CONNECTION_CLOSED' })
}
