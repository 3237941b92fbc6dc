import { fromSqlError, StarflowError } from '@starflow/errors'
import type { SchemaPort, SupabasePort } from './supabase-port.ts'

/** PostgREST: the schema is not among those it serves. */
const SCHEMA_NOT_SERVED = 'PGRST106'
/** Postgres: insufficient_privilege. */
const PERMISSION_DENIED = '42501'

/**
 * Calls a function of the schema pgflow.
 *
 * @throws StarflowError of the database, or SF226 when the request itself fails
 */
export async function callStarflow(supabase: SupabasePort, name: string, parameters: object): Promise<unknown> {
  const { data, error } = await pgflowOf(supabase).rpc(name, parameters)
  if (error === null || error === undefined) return data
  throw fromSqlError(error) ?? requestFailed(name, error)
}

function pgflowOf(supabase: SupabasePort): SchemaPort {
  // Its type would be that of the application's own schemas.
  return supabase.schema('pgflow') as SchemaPort
}

/** Whether asking again is of no use: the caller is not allowed to. */
export function isDenied(error: unknown): boolean {
  return error instanceof StarflowError && error.fields.reason === PERMISSION_DENIED
}

function requestFailed(name: string, error: unknown): StarflowError {
  const { code, message } = error as { code?: string; message?: string }
  return new StarflowError({
    code: 'SF226',
    message: `The request "${name}" failed.`,
    detail: message,
    hint: HINTS[code ?? ''] ?? 'Is the address of the project right, and can it be reached?',
    fields: { request: name, reason: code },
    cause: error,
  })
}

const HINTS: Readonly<Record<string, string>> = {
  [SCHEMA_NOT_SERVED]: 'Add pgflow to the schemas that the API serves: schemas = ["public", "pgflow"] in config.toml.',
  [PERMISSION_DENIED]: "Sign in, and let signed-in people in once: select pgflow.grant_client_access('authenticated')",
}
