import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database as DatabaseClient, openDatabase, parseDatabaseUrl, type Sql } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import { loadProject, type Project } from '../project/project.ts'
import { isMissingInSchema, notMigrated, otherSchemaVersion, stillStarting } from './not-migrated.ts'

/** What every command that talks to a database can be told. */
export interface DatabaseOptions {
  readonly databaseUrl?: string | undefined
}

interface WorkOptions extends DatabaseOptions {
  readonly mayBeEmpty?: boolean
  /** How long a call of the work may take. Default 30 s. */
  readonly callTimeoutMs?: number
}

export interface Database {
  readonly sql: DatabaseClient
  readonly url: string
  /** Where the URL came from, for messages. */
  readonly source: '--database-url' | 'DATABASE_URL' | 'starflow dev' | 'starflow demo'
  /** True for the local platform of this project. */
  readonly isLocalPlatform: boolean
}

/**
 * Runs `work` on the database that was named: by option, by DATABASE_URL, else the local platform that runs for this
 * project. The connection works through a transaction pooler too, and is closed afterwards.
 *
 * @throws StarflowError SF630 none was named, SF631 unreachable, SF403 without Starflow's schema (unless `mayBeEmpty`), or with one
 * that lacks what `work` asks for
 */
export async function withDatabase<T>(options: WorkOptions, work: (database: Database) => Promise<T>): Promise<T> {
  const project = await loadProject(process.cwd())
  const { url, source } = await findDatabase(options, project)
  const platform = source.startsWith('starflow ') ? source.slice('starflow '.length) : findLocalPlatform(url, project)
  const sql = connect(url, 'starflow', { callTimeoutMs: options.callTimeoutMs })
  try {
    await check(sql, { url, source }, options.mayBeEmpty === true)
    return await work({ sql, url, source, isLocalPlatform: platform !== undefined })
  } catch (error) {
    if (!isMissingInSchema(error)) throw error
    const restart = platform === 'demo' ? 'npx starflow demo --keep' : 'npx starflow dev'
    throw otherSchemaVersion(error, platform === undefined ? undefined : restart)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

export interface ConnectOptions {
  /** Default 2. */
  readonly connections?: number
  /** How long a call may take. Default 30 s. */
  readonly callTimeoutMs?: number | undefined
}

/**
 * Connections to a database, seen in pg_stat_activity under `applicationName`. Unprepared: the URL may lead through a transaction
 * pooler.
 */
export function connect(
  url: string,
  applicationName: string,
  { connections = 2, callTimeoutMs }: ConnectOptions = {},
): DatabaseClient {
  const limit = callTimeoutMs === undefined ? {} : { callTimeoutMs }
  return parsed(url, () =>
    openDatabase(parseDatabaseUrl(url, process.env), { applicationName, connections, prepare: false, ...limit }),
  )
}

async function findDatabase(options: DatabaseOptions, project: Project): Promise<Pick<Database, 'url' | 'source'>> {
  if (options.databaseUrl !== undefined) return { url: options.databaseUrl, source: '--database-url' }
  const { DATABASE_URL } = process.env
  if (DATABASE_URL !== undefined && DATABASE_URL.trim() !== '') return { url: DATABASE_URL, source: 'DATABASE_URL' }
  for (const name of ['dev', 'demo'] as const) {
    const folder = join(project.stateDir, name, 'postgres')
    if (!existsSync(join(folder, 'PG_VERSION'))) continue
    // Only here: the whole local platform comes with it.
    const { findPostgres } = await import('@starflow/local')
    const server = findPostgres(folder)
    if (server !== undefined) return { url: server.url(), source: `starflow ${name}` }
  }
  throw new StarflowError({
    code: 'SF630',
    message: 'There is no database to talk to.',
    detail:
      'No --database-url, no DATABASE_URL, and neither "starflow dev" nor "starflow demo --keep" runs for this project.',
    hint: 'Give --database-url postgresql://…, or start: npx starflow dev',
  })
}

/** Also when it was named: the URL is printed for that. The platform writes down where it is while it runs. */
function findLocalPlatform(url: string, project: Project): string | undefined {
  return ['dev', 'demo'].find((name) => {
    try {
      const status = JSON.parse(readFileSync(join(project.stateDir, name, 'status.json'), 'utf8')) as object
      return 'databaseUrl' in status && status.databaseUrl === url
    } catch {
      return false
    }
  })
}

async function check(sql: Sql, { url, source }: Pick<Database, 'url' | 'source'>, mayBeEmpty: boolean): Promise<void> {
  let isInstalled: boolean
  try {
    const [row] = await sql<[{ isInstalled: boolean }]>`
      select to_regclass('pgflow.worker_function_queues') is not null as "isInstalled"`
    isInstalled = row.isInstalled
  } catch (error) {
    // The roles of a new database come a moment after its server.
    const isWithoutRoles = ['28P01', '28000'].includes(String((error as { code?: unknown }).code))
    if (isWithoutRoles && source.startsWith('starflow ')) throw stillStarting(source, (error as Error).message)
    throw unreachable(url, error)
  }
  if (isInstalled || mayBeEmpty) return
  const detail = `Looked in ${withoutPassword(url)} for the schema pgflow.`
  throw source.startsWith('starflow ') ? stillStarting(source, detail) : notMigrated(detail)
}

function parsed<T>(url: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw unreachable(url, error)
  }
}

/** @returns SF631, without the password of the URL */
export function unreachable(url: string, cause: unknown): StarflowError {
  const { message, code } = cause as { message?: string; code?: string }
  return new StarflowError({
    code: 'SF631',
    message: `The database ${withoutPassword(url)} cannot be reached.`,
    // A driver may quote the URL that it could not parse.
    detail: `${code ?? ''} ${message ?? String(cause)}`.replaceAll(url, withoutPassword(url)).trim(),
    hint: 'Check the URL: postgresql://user:password@host:port/database',
  })
}

/** Also a URL with a typing error must not show its password: what cannot be parsed is not shown at all. */
function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)'
  const { protocol, host, pathname } = new URL(url)
  return host === '' ? '(not a URL of a server)' : `${protocol}//${host}${pathname}`
}
