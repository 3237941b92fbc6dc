import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  cloneDatabase,
  DEFAULT_POSTGRES_MAJOR,
  findPostgres,
  type LoginRole,
  POSTGRES_MAJORS,
  type PostgresMajor,
  type PostgresServer,
  preparePlatform,
  startPostgres,
} from '@starflow/local'
import postgres from 'postgres'
import { inPlaceOf } from '../../scripts/mutants/mutant-in-place.ts'
import { ROOT } from '../../scripts/repository.ts'
import { readSchemaFiles, SCHEMAS_FOLDER } from '../../scripts/schema-files.ts'
import { loadSchema } from './load-schema.ts'
import {
  IS_UNUSUAL,
  UNUSUAL_DATABASE,
  UNUSUAL_HABITS,
  UNUSUAL_PUBLICATION,
  UNUSUAL_SETTINGS,
} from './unusual-settings.ts'

/** What a database is cloned from: Supabase alone, or with the SQL core installed. */
export type TemplateName = 'platform' | 'starflow'

/** What test files are given of the server, as plain data that crosses processes. */
export interface TestServer {
  readonly major: PostgresMajor
  /** Connection URLs by role, with {@link DATABASE_PLACEHOLDER} for the database. */
  readonly urls: Readonly<Record<LoginRole, string>>
  /** The URL of role `postgres` through a transaction pooler, where the tests run with one. */
  readonly pooledUrl?: string
  /** Where the server writes what went wrong; each line names its database. */
  readonly logFile: string
  /** Why a template could not be made. A file that asks for it gets this as its error; other files are not touched. */
  readonly broken: Readonly<Partial<Record<TemplateName, string>>>
}

export const DATABASE_PLACEHOLDER = '__database__'

declare module 'vitest' {
  interface ProvidedContext {
    testServer: TestServer
  }
}

const FOLDER_PREFIX = 'starflow-tests-'
const LOGIN_ROLES: readonly LoginRole[] = ['postgres', 'supabase_admin', 'authenticator']

/** The major version that the environment variable PG asks for; by default that of the local platform. */
export function requestedMajor(): PostgresMajor {
  const { PG = String(DEFAULT_POSTGRES_MAJOR) } = process.env
  const major = POSTGRES_MAJORS.find((each) => String(each) === PG)
  if (major === undefined) throw new Error(`PG=${PG}: the tests run on Postgres ${POSTGRES_MAJORS.join(', ')}.`)
  return major
}

/** Starts the one server of a test run in a folder of its own, with the templates that test databases are cloned from. */
export async function startTestServer(
  major: PostgresMajor,
): Promise<{ server: PostgresServer; testServer: TestServer; stop(): Promise<void> }> {
  removeLeftovers()
  if (major !== DEFAULT_POSTGRES_MAJOR) installEndToEndDependencies()
  const folder = mkdtempSync(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`))
  const server = await startPostgres({
    dataDir: join(folder, 'data'),
    major,
    fsync: false,
    pgmqFile: process.env.PGMQ_SQL,
    settings: {
      ...{ max_connections: 200, shared_buffers: '128MB', log_line_prefix: '%m [%p] %d ' },
      ...(IS_UNUSUAL ? UNUSUAL_SETTINGS : {}),
    },
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const endWithProcess = () => stopNow(server.pid)
  process.once('exit', endWithProcess)
  const broken = await makeTemplates(server)
  const urls = Object.fromEntries(
    LOGIN_ROLES.map((role) => [role, server.url({ role, database: DATABASE_PLACEHOLDER })]),
  ) as Record<LoginRole, string>
  return {
    server,
    testServer: { major, urls, logFile: join(server.dataDir, 'server.log'), broken },
    stop: async () => {
      await server.stop()
      process.off('exit', endWithProcess)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function makeTemplates(server: PostgresServer): Promise<TestServer['broken']> {
  try {
    await asSuperuser(server, 'template1', `create database platform ${IS_UNUSUAL ? UNUSUAL_DATABASE : ''}`)
    await preparePlatform(server, 'platform')
  } catch (error) {
    const reason = `The platform's roles and schemas could not be made.\n${String(error)}`
    return { platform: reason, starflow: reason }
  }
  await cloneDatabase(server, { template: 'platform', name: 'starflow' })
  if (IS_UNUSUAL) await asSuperuser(server, 'starflow', UNUSUAL_HABITS)
  const sql = postgres(server.url({ database: 'starflow' }), { max: 1, onnotice: () => {} })
  try {
    // From the schema files, which are the truth: the migrations are proved equal to them by scripts/check-migrations.ts.
    await loadSchema(sql, schemaFiles())
    if (IS_UNUSUAL) await asSuperuser(server, 'starflow', UNUSUAL_PUBLICATION)
    return {}
  } catch (error) {
    return { starflow: `The SQL core does not load as role postgres.\n${String(error)}` }
  } finally {
    await sql.end()
  }
}

/** With the change that is tried, if one is (scripts/mutants.ts). */
function schemaFiles() {
  return readSchemaFiles().map(({ path, sql }) => ({ path, sql: inPlaceOf(join(SCHEMAS_FOLDER, path), sql) }))
}

async function asSuperuser(server: PostgresServer, database: string, statement: string): Promise<void> {
  const sql = postgres(server.url({ role: 'supabase_admin', database }), { max: 1, onnotice: () => {} })
  await sql
    .unsafe(statement)
    .simple()
    .finally(() => sql.end())
}

/** The other majors are no dependency of the workspaces: `PG=15 npm test` fetches them when one is first asked for. */
function installEndToEndDependencies(): void {
  if (existsSync(join(ROOT, 'e2e/node_modules/postgres-18'))) return
  const { status, stdout, stderr } = spawnSync('npm', ['ci', '--prefix', 'e2e'], { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ci --prefix e2e failed (exit code ${status}).\n${stdout}\n${stderr}`)
}

/** Servers and folders of test runs that were killed before they could tidy up. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(FOLDER_PREFIX))) {
    if (isAlive(Number(name.slice(FOLDER_PREFIX.length).split('-')[0]))) continue
    const folder = join(tmpdir(), name)
    try {
      const orphan = findPostgres(join(folder, 'data'))
      if (orphan !== undefined) stopNow(orphan.pid)
    } catch {
      // Half a data folder: there is no server to stop.
    }
    rmSync(folder, { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function stopNow(pid: number): void {
  try {
    process.kill(pid, 'SIGQUIT')
  } catch {
    // It has ended by itself.
  }
}
