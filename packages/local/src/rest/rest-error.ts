import { isSqlError } from '../database/transaction-pool.ts'

/** What PostgREST answers when it refuses: the four parts of its JSON, and the HTTP status. */
export class RestError extends Error {
  readonly status: number
  readonly code: string
  readonly details: string | null
  readonly hint: string | null

  constructor(parts: {
    readonly status: number
    readonly code: string
    readonly message: string
    readonly details?: string | null | undefined
    readonly hint?: string | null | undefined
  }) {
    super(parts.message)
    this.name = 'RestError'
    this.status = parts.status
    this.code = parts.code
    this.details = parts.details ?? null
    this.hint = parts.hint ?? null
  }

  /** The parts in PostgREST's order. */
  toJSON(): Record<'code' | 'details' | 'hint' | 'message', string | null> {
    return { code: this.code, details: this.details, hint: this.hint, message: this.message }
  }
}

/** PostgREST's table of SQLSTATEs: the longest beginning that fits decides; what is not in it is the caller's fault, 400. */
const HTTP_STATUS: Readonly<Record<string, number>> = {
  '08': 503,
  '09': 500,
  '0L': 403,
  '0P': 403,
  '23503': 409,
  '23505': 409,
  '25': 500,
  '25006': 405,
  '28': 403,
  '2D': 500,
  '38': 500,
  '39': 500,
  '3B': 500,
  '40': 500,
  '42883': 404,
  '42P01': 404,
  '42P17': 500,
  '53': 503,
  '53400': 500,
  '54': 500,
  '55': 500,
  '57': 500,
  '57P01': 503,
  '58': 500,
  F0: 500,
  HV: 500,
  P0: 500,
  P0001: 400,
  XX: 500,
}

/** Turns whatever went wrong into an answer. `isAnonymous`: what is forbidden then asks for a login, 401. */
export function toRestError(error: unknown, isAnonymous: boolean): RestError {
  if (error instanceof RestError) return error
  if (!isSqlError(error)) return unreachable(error)
  if (error.code === 'PGRST') return raisedAnswer(error)
  const { code, message, detail: details, hint } = error
  return new RestError({ status: statusOf(code, isAnonymous), code, message, details, hint })
}

function statusOf(code: string, isAnonymous: boolean): number {
  if (code === '42501') return isAnonymous ? 401 : 403
  const chosen = /^PT([1-5]\d\d)$/.exec(code)?.[1]
  if (chosen !== undefined) return Number(chosen)
  return HTTP_STATUS[code] ?? HTTP_STATUS[code.slice(0, 2)] ?? 400
}

/** `raise sqlstate 'PGRST'`: a function composes the whole answer, in JSON. */
function raisedAnswer(error: Error & { readonly detail?: string | undefined }): RestError {
  try {
    const { code, message, details, hint } = JSON.parse(error.message) as Record<string, string | null>
    const { status } = JSON.parse(error.detail ?? '') as { status: number }
    if (code == null || message == null || !Number.isInteger(status)) throw new Error('incomplete')
    return new RestError({ status, code, message, details, hint })
  } catch {
    return new RestError({
      status: 500,
      code: 'PGRST121',
      message: 'Could not parse JSON in the "RAISE SQLSTATE \'PGRST\'" error',
      details: 'MESSAGE needs code and message, DETAIL needs status and headers.',
    })
  }
}

/** The error itself is not told: it names hosts and users, and helps no caller. */
function unreachable(error: unknown): RestError {
  if (error instanceof Error && /^timeout exceeded/.test(error.message)) {
    return new RestError({
      status: 504,
      code: 'PGRST003',
      message: 'Timed out acquiring connection from connection pool.',
    })
  }
  return new RestError({ status: 503, code: 'PGRST001', message: 'Database client error. Retrying the connection.' })
}
