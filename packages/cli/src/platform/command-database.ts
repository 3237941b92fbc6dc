import { join } from 'node:path'
import { StarflowError } from '@starflow/errors'
import { findPostgres } from '@starflow/local'
import postgres, { type Sql } from 'postgres'
import { loadProject } from '../project/project.ts'

/** The database that a command works on. */
export interface CommandDatabase {
  readonly sql: Sql
  /** Host, port and name, for a person: never the password. */
  readonly label: string
  close(): Promise<void>
}

/**
 * Connects to `--database-url`, else to DATABASE_URL, else to the database of the `starflow dev` (or `starflow demo --keep`)
 * that runs for the project.
 *
 * @throws StarflowError SF630 when there is none, SF631 when it does not answer
 */
export async function openCommandDatabase(
  { databaseUrl }: { readonly databaseUrl?: string | undefined },
  { cwd = process.cwd(), env = process.env }: { cwd?: string; env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<CommandDatabase> {
  const url = nonEmpty(databaseUrl) ?? nonEmpty(env.DATABASE_URL) ?? (await localDatabaseUrl(cwd))
  if (url === undefined) {
    throw new StarflowError({
      code: 'SF630',
      message: 'There is no database to work on.',
      detail: 'Neither --database-url nor DATABASE_URL is set, and no starflow dev runs for this project.',
      hint: 'Give --database-url postgresql://…, or start: starflow dev',
    })
  }
  const label = labelOf(url)
  const sql = postgres(url, { max: 2, onnotice: () => {}, connect_timeout: 10 })
  try {
    await sql`select 1`
  } catch (cause) {
    await sql.end({ timeout: 1 })
    throw unreachable(label, cause)
  }
  return { sql, label, close: () => sql.end({ timeout: 5 }) }
}

async function localDatabaseUrl(cwd: string): Promise<string | undefined> {
  const { stateDir } = await loadProject(cwd)
  for (const platform of ['dev', 'demo']) {
    const server = findPostgres(join(stateDir, platform, 'postgres'))
    if (server !== undefined) return server.url()
  }
  return undefined
}

function labelOf(url: string): string {
  try {
    const { host, pathname } = new URL(url)
    return `${host}${pathname}`
  } catch (cause) {
    throw unreachable('the given database', cause)
  }
}

function unreachable(label: string, cause: unknown): StarflowError {
  // Neither the message of URL nor that of the driver repeats the URL, and with it the password.
  return new StarflowError({
    code: 'SF631',
    message: `The database cannot be reached: ${label}.`,
    detail: cause instanceof Error ? cause.message || (cause as { code?: string }).code : String(cause),
    hint: 'Check host, port, user and password of the URL.',
    cause,
  })
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text
}
