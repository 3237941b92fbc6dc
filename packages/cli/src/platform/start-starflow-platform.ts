import { relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Database,
  OPERATOR_CALL_TIMEOUT_MS,
  openDatabase,
  parseDatabaseUrl,
  type Sql,
  StarflowSql,
} from '@starflow/core'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { createLocalPlatform, type LocalPlatform, type LocalPlatformOptions, type PlatformEvent } from '@starflow/local'
import { findGeneratedFunctions } from '../functions/generation.ts'
import { CpuReport } from './cpu-report.ts'
import { platformMigrations } from './platform-migrations.ts'

/** What is told beside what the local platform tells. */
export type StarflowPlatformEvent =
  | PlatformEvent
  /** The CPU of workers could not be told to the database: said once until it can be again. */
  | { readonly type: 'cpu.unreported'; readonly message: string }

export interface StarflowPlatformOptions {
  /** Where the local database lives. Made when it does not exist. */
  readonly dataDir: string
  /** The folder with the generated worker functions. */
  readonly functionsDir: string
  /** The worker functions to start. Default: all that were generated. */
  readonly functions?: readonly string[] | undefined
  /** The project's own migrations, applied together with ours by time stamp. */
  readonly migrationsDir?: string | undefined
  /** The project's config.toml, which says in its section `[api]` what the REST API serves. */
  readonly configFile?: string | undefined
  /** A server of Starflow will keep its runs there: its schema is served too, whatever the config.toml says. */
  readonly hasServer?: boolean
  readonly ports?: LocalPlatformOptions['ports']
  /** Limits of each worker's isolate. Default: as hosted. */
  readonly limits?: LocalPlatformOptions['limits']
  /** Environment of the functions, beside what Supabase gives them. */
  readonly functionEnv?: Readonly<Record<string, string>>
  /** Replace isolates when their code changes. */
  readonly watch?: LocalPlatformOptions['watch']
  readonly onEvent?: (event: StarflowPlatformEvent) => void
  /**
   * Asked when the database was made by another version of the SQL core: true deletes it and begins anew.
   * Without it the start is refused with SF621.
   */
  readonly mayRecreate?: (() => boolean | Promise<boolean>) | undefined
}

/** How long the last report of CPU may hold up the end of everything. */
const LAST_REPORT_MS = 2_000

/** A local Supabase with Starflow installed and its workers kept alive by cron. */
export interface StarflowPlatform {
  readonly platform: LocalPlatform
  /** As role `postgres`. Ended by `dispose`. */
  readonly sql: Database
  /** Names of the worker functions, sorted. */
  readonly functions: readonly string[]
  /** Stops everything. Twice is fine. */
  dispose(): Promise<void>
}

/**
 * Starts the local platform with the SQL core installed, tells it which worker functions there are, and schedules the two
 * jobs that keep workers alive and recover stalled tasks. When it fails, nothing is left running.
 *
 * @throws StarflowError SF619 without generated functions, SF621 for a database of another version, and what the local
 *   platform refuses
 */
export async function startStarflowPlatform(options: StarflowPlatformOptions): Promise<StarflowPlatform> {
  const functions = options.functions ?? findGeneratedFunctions(options.functionsDir)
  if (functions.length === 0) throw noFunctions(options.functionsDir)
  const { onEvent } = options
  let cpuReport: CpuReport | undefined
  const platform = await startLocalPlatform({
    ...options,
    onEvent: (event) => {
      if (event.type === 'function.exited') cpuReport?.ended(event)
      onEvent?.(event)
    },
  })
  const sql = openDatabase(parseDatabaseUrl(platform.databaseUrl), {
    applicationName: 'starflow platform',
    connections: 4,
    // A shape that changed is deleted with its runs.
    callTimeoutMs: OPERATOR_CALL_TIMEOUT_MS,
  })
  const core = new StarflowSql(sql)
  const report = new CpuReport({
    isolates: () => platform.functions.isolates(),
    send: (cpuMs) => core.reportCpu(cpuMs),
    onFailure: (error) => onEvent?.({ type: 'cpu.unreported', message: (error as Error).message }),
  })
  cpuReport = report
  let disposal: Promise<void> | undefined
  const dispose = () => {
    disposal ??= end({ platform, sql, report })
    return disposal
  }
  try {
    await connectWorkers(sql, platform, functions)
    report.start()
    return { platform, sql, functions, dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** The isolates first, so that what they have used up to their end can still be told. */
async function end(started: { platform: LocalPlatform; sql: Database; report: CpuReport }): Promise<void> {
  const { platform, sql, report } = started
  try {
    await platform.stopFunctions()
    await Promise.race([report.stop(), pause(LAST_REPORT_MS, undefined, { ref: false })])
  } finally {
    await sql.end({ timeout: 1 }).finally(() => platform.dispose())
  }
}

async function startLocalPlatform(options: StarflowPlatformOptions): Promise<LocalPlatform> {
  try {
    return await createLocalPlatform({
      dataDir: options.dataDir,
      functionsDir: options.functionsDir,
      migrations: platformMigrations(options.migrationsDir),
      mayRecreate: options.mayRecreate,
      ...(options.configFile === undefined ? {} : { configFile: options.configFile }),
      ...(options.hasServer === true ? { otherSchemas: ['starflow'] } : {}),
      ...(options.ports === undefined ? {} : { ports: options.ports }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.functionEnv === undefined ? {} : { functionEnv: options.functionEnv }),
      ...(options.watch === undefined ? {} : { watch: options.watch }),
      ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
    })
  } catch (error) {
    throw isStarflowError(error, 'SF521') ? baselineChanged(options.dataDir, error) : error
  }
}

/** What a deployment does on a hosted project: say where the functions are, with which key, and which ones there are. */
async function connectWorkers(sql: Database, platform: LocalPlatform, functions: readonly string[]): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`select pgflow.set_setting('local', 'on')`
    await transaction`select pgflow.set_setting('functions_base_url', ${`${platform.apiUrl}/functions/v1`})`
    await transaction`delete from vault.secrets where name = 'supabase_service_role_key'`
    await transaction`select vault.create_secret(${platform.serviceRoleKey}, 'supabase_service_role_key')`
    // A flow with a wait is not started without one. It stays, so that tokens of an earlier start are good.
    await transaction`
      select vault.create_secret(encode(extensions.gen_random_bytes(32), 'hex'), 'starflow_wait_token_secret')
      where not exists (select from vault.secrets where name = 'starflow_wait_token_secret')`
    await trackFunctions(transaction, functions)
  })
  // Switched on in a hosted project's dashboard; the SQL core needs them only for its jobs.
  await sql`create extension if not exists pg_cron`
  await sql`create extension if not exists pg_net`
  await sql`select pgflow.setup_ensure_workers_cron()`
  await sql`select pgflow.setup_requeue_stalled_tasks_cron()`
  await sql`select starflow.setup_queue_samples_cron()`
}

/**
 * Makes these the worker functions that are pinged. One that no step needs would be started in vain for ever. Code that has
 * changed is tried at once, however often the code before has failed to start.
 */
export async function trackFunctions(sql: Sql, functions: readonly string[]): Promise<void> {
  await sql`update pgflow.worker_functions set failed_starts = 0, start_awaited_since = null, start_request_id = null
            where failed_starts > 0 or start_awaited_since is not null`
  await sql`delete from pgflow.worker_functions where start_mode = 'http' and function_name <> all(${functions})`
  for (const name of functions) await sql`select pgflow.track_worker_function(${name})`
}

function noFunctions(functionsDir: string): StarflowError {
  return new StarflowError({
    code: 'SF619',
    message: `There are no worker functions in ${relative(process.cwd(), functionsDir) || '.'}.`,
    detail: 'They are generated from the flow modules in its folder _flows.',
    hint: 'Run: npx starflow functions generate',
  })
}

function baselineChanged(dataDir: string, cause: StarflowError): StarflowError {
  return new StarflowError({
    code: 'SF621',
    message: `The local database in ${relative(process.cwd(), dataDir) || '.'} was made by other migrations.`,
    detail: `${cause.message} Nothing was changed.`,
    hint: 'Recreate it, which deletes its data (npx starflow dev --recreate), or name another folder.',
    fields: { dataDir },
    cause,
  })
}
