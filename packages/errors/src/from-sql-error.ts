import { ERROR_CODES, type ErrorCode } from './codes.ts'
import { StarflowError } from './starflow-error.ts'

/**
 * Translates a database error into a StarflowError, or gives undefined where it is not one of ours (a lost connection,
 * say). Reads the shapes of postgres.js (`detail`, `hint`), of `pg`, and of PostgREST's JSON (`details`, `hint`).
 */
export function fromSqlError(error: unknown): StarflowError | undefined {
  if (error instanceof StarflowError) return error
  if (typeof error !== 'object' || error === null) return undefined
  const { code, message, detail, details, hint } = error as Record<string, unknown>
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  const ours = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : releasedCode(code, message)
  if (ours === undefined) return undefined
  return new StarflowError({
    code: ours,
    message,
    detail: text(detail) ?? text(details),
    hint: text(hint),
    fields: { sqlState: code },
    cause: error,
  })
}

/** Messages of the released SQL interface keep their SQLSTATE and text; they are recognised by it. */
const RELEASED_MESSAGES: readonly { sqlState: string; pattern: RegExp; code: ErrorCode }[] = [
  // pgmq's words, of a plain flow's queue; that of a step is derived so that it fits, or refused before.
  { sqlState: 'P0001', pattern: /^queue name is too long/, code: 'SF101' },
  { sqlState: 'P0001', pattern: /^Map step ".*" can have at most one dependency/, code: 'SF112' },
  { sqlState: 'P0001', pattern: /^Flow .* has root map steps but input is /, code: 'SF203' },
  { sqlState: '23514', pattern: /constraint "(slug_is_valid|steps_step_slug_check)"/, code: 'SF106' },
  { sqlState: '23503', pattern: /constraint "deps_flow_slug_dep_slug_fkey"/, code: 'SF112' },
  { sqlState: '23514', pattern: /constraint "deps_check"/, code: 'SF112' },
  { sqlState: '23503', pattern: /constraint "steps_flow_slug_fkey"/, code: 'SF201' },
  {
    sqlState: '23514',
    pattern: /constraint "(\w+_is_object|\w+_is_valid|steps_step_type_check|opt_\w+)"/,
    code: 'SF113',
  },
]

function releasedCode(sqlState: string, message: string): ErrorCode | undefined {
  return RELEASED_MESSAGES.find((entry) => entry.sqlState === sqlState && entry.pattern.test(message))?.code
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
