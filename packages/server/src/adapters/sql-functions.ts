import type { Sql } from '@starflow/core'
import { parseExactJson } from '@starflow/dsl'
import type { RestApi } from '@starflow/engine/adapters/supabase'
import { StarflowError } from '@starflow/errors'

/** Calls functions of the schema starflow by name, with named arguments; answers their rows, or a scalar. */
export type SqlFunctions = (name: string, args: Readonly<Record<string, unknown>>) => Promise<unknown>

/** An answer of one value: PostgREST gives it as it is, a direct call as its one row. */
export function scalar<T>(answer: unknown): T {
  return (Array.isArray(answer) ? answer[0] : answer) as T
}

/** Over the API of the Supabase project (PostgREST). */
export function restFunctions(api: RestApi): SqlFunctions {
  return async (name, args) => {
    const { status, text } = await api.call(name, args).catch((cause: Error) => {
      throw unavailable(cause.message, cause)
    })
    if (status >= 300) throw refused(status, text)
    return text === '' ? undefined : parseExactJson(text)
  }
}

/** On a direct connection. */
export function directFunctions(sql: Sql): SqlFunctions {
  return async (name, args) => {
    const entries = Object.entries(args)
    const list = entries.map(([key], index) => `${key} => $${index + 1}`).join(', ')
    const rows = await sql.unsafe<{ result: unknown }[]>(
      `select to_jsonb(f) as result from starflow.${name}(${list}) f`,
      entries.map(([, value]) => value as string | null),
    )
    return rows.map((row) => row.result)
  }
}

/** PostgREST's refusal keeps the parts of ours (see fromSqlError); its own are told by status and code. */
function refused(status: number, text: string): unknown {
  try {
    const parts = JSON.parse(text) as { code?: string }
    if (parts.code?.startsWith('SF')) return parts
    return unavailable(`It answered ${status}${parts.code === undefined ? '' : ` (${parts.code})`}.`)
  } catch {
    return unavailable(`It answered ${status}.`)
  }
}

function unavailable(detail: string, cause?: unknown): StarflowError {
  return new StarflowError({
    code: 'SF911',
    message: 'The API of the database cannot be used.',
    detail,
    hint: 'Check SUPABASE_URL, the key, and that the schema starflow is exposed and migrated.',
    cause,
  })
}
