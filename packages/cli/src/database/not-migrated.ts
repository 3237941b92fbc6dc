import { StarflowError } from '@starflow/errors'

/** Undefined function, table, schema and column. */
const MISSING_STATES: readonly unknown[] = ['42883', '42P01', '3F000', '42703']

/** True for what a query fails with where the database does not have what it names. */
export function isMissingInSchema(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && MISSING_STATES.includes(error.code)
}

/** @returns SF403 for a database without Starflow */
export function notMigrated(detail: string, cause?: unknown): StarflowError {
  return new StarflowError({
    code: 'SF403',
    message: 'This database does not have the SQL functions of this version of Starflow.',
    detail,
    hint: 'Apply the migrations (npx supabase db push for a linked project), then run the command again.',
    ...(cause === undefined ? {} : { cause }),
  })
}

/** @returns SF403 for the database of a local platform, which migrates it at its start */
export function stillStarting(platform: string, detail: string): StarflowError {
  return new StarflowError({
    code: 'SF403',
    message: `"${platform}" is still starting: its database has yet to be migrated.`,
    detail,
    hint: `Run the command again when it is ready. If it was killed, start it again: npx ${platform}`,
  })
}

/**
 * @param restart the command that starts the local platform which the database is of
 * @returns SF403 for a database with Starflow, though not with all that this command line asks it for
 */
export function otherSchemaVersion(
  cause: Error & { readonly code: string },
  restart: string | undefined,
): StarflowError {
  return new StarflowError({
    code: 'SF403',
    message: 'This database has another version of the SQL functions than this command line, most likely an older one.',
    detail: `${cause.message} (SQLSTATE ${cause.code})`,
    hint:
      restart === undefined
        ? 'Apply the migrations of this version (npx supabase db push for a linked project, npx supabase migration up locally), then run the command again. If they are applied, please report this with its detail.'
        : `Stop the local platform and start it again, which migrates the database or says what is in the way: ${restart}`,
    cause,
  })
}
