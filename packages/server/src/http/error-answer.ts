import { isConnectionLoss } from '@starflow/core'
import { fromSqlError, isStarflowError, StarflowError } from '@starflow/errors'
import { z } from 'zod'
import { statusOf } from './error-status.ts'

/** What every refusal looks like. */
export const errorBody = z.object({
  error: z.object({
    code: z.string().describe('The error code; docs/errors has a page for each.'),
    name: z.string(),
    message: z.string().describe('What failed, in one sentence.'),
    detail: z.string().optional().describe('The facts behind it.'),
    hint: z.string().optional().describe('The way out.'),
    requestId: z.string().describe('Finds the request in the log of the server.'),
  }),
})

/** A refusal as it is answered, and whether it is a defect that the log has to explain. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: z.input<typeof errorBody>
  readonly isDefect: boolean
}

/** Answers whatever was thrown. Of what is no refusal of ours nothing is told but the request's id. */
export function errorAnswer(thrown: unknown, requestId: string): ErrorAnswer {
  const refusal = refusalOf(thrown) ?? internalError(requestId)
  const { code, name, message, detail, hint } = refusal.toJSON()
  const status = statusOf(code)
  const { retryAfterSeconds } = refusal.fields
  return {
    status,
    headers: {
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      // The rest of the body is not read, so nothing more can be asked on this connection.
      ...(status === 413 ? { connection: 'close' } : {}),
      ...(typeof retryAfterSeconds === 'number' ? { 'retry-after': String(retryAfterSeconds) } : {}),
    },
    body: { error: { code, name, message, ...defined({ detail, hint }), requestId } },
    isDefect: status === 500,
  }
}

function refusalOf(thrown: unknown): StarflowError | undefined {
  if (thrown instanceof StarflowError) return thrown
  // Of another copy of the package, or a refusal of SQL.
  if (isStarflowError(thrown)) return fromSqlError(thrown)
  const ofSql = fromSqlError(thrown)
  if (ofSql !== undefined) return ofSql
  if (!isConnectionLoss(thrown)) return undefined
  return new StarflowError({
    code: 'SF911',
    message: 'The database cannot be reached.',
    detail: 'The connection was refused or lost. Whether a change was made is not known.',
    hint: 'Repeat the request; give a start an idempotency key.',
  })
}

function internalError(requestId: string): StarflowError {
  return new StarflowError({
    code: 'SF914',
    message: 'The server failed to answer this request.',
    detail: `The log of the server says more under the request id ${requestId}.`,
    hint: 'Report it with what the log says.',
  })
}

function defined<T extends object>(parts: T): Partial<T> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as Partial<T>
}
