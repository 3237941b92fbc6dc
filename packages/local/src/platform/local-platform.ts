import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { type ApiKeys, loadApiKeys } from '../access/api-keys.ts'
import type { FunctionsEvent } from '../functions/functions-event.ts'
import { FunctionsHost, type FunctionsHostOptions } from '../functions/functions-host.ts'
import type { PostgresMajor } from '../postgres/binaries.ts'
import { preparePlatform } from '../postgres/prepare-platform.ts'
import {
  findPostgres,
  type PostgresServer,
  type StartPostgresOptions,
  startPostgres,
} from '../postgres/start-postgres.ts'
import { RealtimeService } from '../realtime/realtime-service.ts'
import { type ApiSettings, DEFAULT_API_SETTINGS, readApiSettings } from '../rest/api-settings.ts'
import { RestService } from '../rest/rest-service.ts'
import { Ticker } from '../ticker/ticker.ts'
import type { TickerEvent } from '../ticker/ticker-event.ts'
import { Gateway } from './gateway.ts'
import { makeFolder } from './make-folder.ts'
import { applyMigrations, type Migration, readMigrations } from './migrations.ts'
import { lastPorts, type PlatformPorts, refuseTakenPorts } from './ports.ts'
import { writeStatus } from './status-file.ts'

export interface LocalPlatformOptions {
  /** Where all state lives. Default `.starflow` in the current folder. */
  readonly dataDir?: string
  /** Ports on 127.0.0.1. Those left out are the ones of the last start if they are free, else free ones. */
  readonly ports?: Partial<PlatformPorts>
  /** Folder of the edge functions. Without it there are none. */
  readonly functionsDir?: string
  /** Secrets of the edge functions. As on hosted projects, no name may start with `SUPABASE_` or `SB_`. */
  readonly functionEnv?: Readonly<Record<string, string>>
  readonly limits?: FunctionsHostOptions['limits']
  readonly watch?: FunctionsHostOptions['watch']
  readonly deno?: string
  /** Major version of Postgres: 17, or 15. Default 17. */
  readonly major?: PostgresMajor
  readonly postgres?: Pick<StartPostgresOptions, 'settings' | 'fsync' | 'binariesFrom' | 'cacheDir'>
  /** Migrations, or the folder of their files; applied as `postgres`. */
  readonly migrations?: readonly Migration[]
  readonly migrationsDir?: string
  /** What `/rest/v1` serves, or the config.toml that says it in its section `[api]`. */
  readonly api?: Partial<ApiSettings>
  readonly configFile?: string
  /** Schemas that `/rest/v1` serves beside those: of a program that comes with the platform, not of the project. */
  readonly otherSchemas?: readonly string[]
  readonly onEvent?: (event: PlatformEvent) => void
  /**
   * Asked when the database has a history that does not fit the migrations: true deletes it and begins with an empty one. The
   * folder is held meanwhile. Without it the start is refused with SF521.
   */
  readonly mayRecreate?: (() => boolean | Promise<boolean>) | undefined
}

/** What the local platform tells. Names and numbers, never bodies or secrets; `function.log` is what functions print. */
export type PlatformEvent =
  | FunctionsEvent
  | TickerEvent
  | { readonly type: 'platform.migrated'; readonly name: string }
  | { readonly type: 'platform.started'; readonly ports: PlatformPorts; readonly startMs: number }

/** A running local platform. */
export interface LocalPlatform extends ApiKeys {
  /** The database, as `postgres`, which is not a superuser. */
  readonly databaseUrl: string
  /** The database, as the superuser `supabase_admin`. */
  readonly adminUrl: string
  /** What `SUPABASE_URL` is: `/rest/v1`, `/realtime/v1` and `/functions/v1` are below it. */
  readonly apiUrl: string
  readonly ports: PlatformPorts
  readonly dataDir: string
  readonly functions: FunctionsHost
  /** Ends the ticker and the isolates. The database and the API go on, for whoever still has something to write down. */
  stopFunctions(): Promise<void>
  /**
   * Ends the ticker, the isolates, the gateway with all that it serves, and Postgres, in this order. When it settles no
   * process of ours lives.
   */
  dispose(): Promise<void>
}

/**
 * Starts what a Supabase project gives, on this computer and without Docker: Postgres with Supabase's roles and schemas, the
 * functions host, the REST API and Realtime behind an HTTP gateway, and the ticker that runs cron jobs and sends HTTP
 * requests. It knows nothing of flows. If it fails half-way, all that was started is ended again.
 *
 * @throws StarflowError SF001 options, SF501 a requested port is in use, SF502 to SF507 Postgres, SF512 no Deno, SF521 and
 * SF522 migrations, SF523 the section `[api]` of config.toml
 */
export async function createLocalPlatform(options: LocalPlatformOptions = {}): Promise<LocalPlatform> {
  const begun = performance.now()
  const onEvent = options.onEvent ?? (() => {})
  const functionEnv = checkedFunctionEnv(options.functionEnv ?? {})
  const migrations = migrationsOf(options)
  const settings = apiSettingsOf(options)
  const dataDir = prepareDataDir(resolve(options.dataDir ?? '.starflow'))

  const started: (() => Promise<void>)[] = []
  try {
    const portsFile = join(dataDir, 'ports.json')
    const last = lastPorts(portsFile)
    const { server, migrated } = await startMigratedDatabase(dataDir, last, migrations, options)
    started.push(() => server.stop())
    const databaseUrl = server.url()
    for (const name of migrated) onEvent({ type: 'platform.migrated', name })
    // Only whoever has the database writes into the folder: another start at the same time is refused before.
    const keys = loadApiKeys(join(dataDir, 'keys.json'), Date.now())

    let functions: FunctionsHost | undefined
    const gateway = new Gateway({
      functions: () => functions,
      health: () => ({ status: 'ok' }),
      services: [
        new RestService({ databaseUrl: server.url({ role: 'authenticator' }), keys, settings }),
        new RealtimeService({ databaseUrl: adminUrlOf(server), keys }),
      ],
    })
    started.push(() => gateway.stop())
    const ports = {
      database: server.port,
      api: await atPort(options.ports?.api, last.api, (port) => gateway.start(port)),
    }
    const apiUrl = `http://127.0.0.1:${ports.api}`

    functions = new FunctionsHost({
      functionsDir: options.functionsDir ?? emptyFolder(join(dataDir, 'no-functions')),
      denoDir: join(dataDir, 'deno'),
      stateDir: dataDir,
      env: {
        ...functionEnv,
        SUPABASE_URL: apiUrl,
        SUPABASE_ANON_KEY: keys.anonKey,
        SUPABASE_SERVICE_ROLE_KEY: keys.serviceRoleKey,
        SUPABASE_DB_URL: databaseUrl,
      },
      onEvent,
      ...pickDefined({ limits: options.limits, watch: options.watch, deno: options.deno }),
    })
    const host = functions
    started.push(() => host.stop())
    host.start()

    const ticker = new Ticker({ adminUrl: adminUrlOf(server), urlOf: (role) => loginUrl(server, role), onEvent })
    started.push(() => ticker.stop())
    ticker.start()

    writeFileSync(portsFile, JSON.stringify(ports))
    started.push(writeStatus(join(dataDir, 'status.json'), { apiUrl, databaseUrl, ...keys }))
    onEvent({ type: 'platform.started', ports, startMs: Math.round(performance.now() - begun) })
    let disposal: Promise<void> | undefined
    return Object.freeze({
      databaseUrl,
      adminUrl: adminUrlOf(server),
      apiUrl,
      ...keys,
      ports,
      dataDir,
      functions: host,
      stopFunctions: () => stopAll([() => host.stop(), () => ticker.stop()]),
      dispose: () => {
        disposal ??= stopAll(started)
        return disposal
      },
    })
  } catch (error) {
    await stopAll(started)
    throw error
  }
}

/** One that other migrations made is made anew after a yes. Its folder is held meanwhile, and nobody else works on it. */
async function startMigratedDatabase(
  dataDir: string,
  last: Partial<PlatformPorts>,
  migrations: readonly Migration[],
  options: LocalPlatformOptions,
): Promise<{ server: PostgresServer; migrated: readonly string[] }> {
  const server = await startDatabase(dataDir, last, options)
  try {
    await preparePlatform(server)
    return { server, migrated: await applyMigrations(server.url(), migrations) }
  } catch (error) {
    const deleteData = await mayDelete(error, options).catch(async (reason: unknown) => {
      await server.stop()
      throw reason
    })
    await server.stop({ deleteData })
    if (!deleteData) throw error
  }
  return await startMigratedDatabase(dataDir, last, migrations, { ...options, mayRecreate: () => false })
}

async function mayDelete(error: unknown, { mayRecreate }: LocalPlatformOptions): Promise<boolean> {
  return isStarflowError(error, 'SF521') && (await mayRecreate?.()) === true
}

async function startDatabase(
  dataDir: string,
  last: Partial<PlatformPorts>,
  options: LocalPlatformOptions,
): Promise<PostgresServer> {
  const folder = join(dataDir, 'postgres')
  const { database, api } = options.ports ?? {}
  // A server that a killed process left behind holds its port by right: starting takes it over.
  const orphan = existsSync(join(folder, 'PG_VERSION')) ? findPostgres(folder) : undefined
  await refuseTakenPorts(pickDefined({ database: database === orphan?.port ? undefined : database, api }))
  return await atPort(database ?? orphan?.port, last.database, (port) =>
    startPostgres({ ...options.postgres, dataDir: folder, major: options.major, port }),
  )
}

/** A port that nobody has asked for gives way to a free one where another program has it by now. */
async function atPort<T>(
  requested: number | undefined,
  last: number | undefined,
  start: (port: number | undefined) => Promise<T>,
): Promise<T> {
  if (requested !== undefined || last === undefined) return await start(requested)
  try {
    return await start(last)
  } catch (error) {
    if (!isStarflowError(error, 'SF501')) throw error
    return await start(undefined)
  }
}

/** Ends the last one first. One that fails to stop does not keep the others running. */
async function stopAll(started: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const stop of started.toReversed()) await stop().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

function migrationsOf({ migrations, migrationsDir }: LocalPlatformOptions): readonly Migration[] {
  if (migrations !== undefined && migrationsDir !== undefined) {
    throw new StarflowError({
      code: 'SF001',
      message: 'Both migrations and migrationsDir are given.',
      detail: 'Migrations come from one list, in the order of its versions.',
      hint: 'Give one of them.',
    })
  }
  return migrations ?? (migrationsDir === undefined ? [] : readMigrations(resolve(migrationsDir)))
}

function apiSettingsOf({ api, configFile, otherSchemas = [] }: LocalPlatformOptions): ApiSettings {
  const ofFile = configFile === undefined ? DEFAULT_API_SETTINGS : readApiSettings(resolve(configFile))
  const settings = { ...ofFile, ...pickDefined(api ?? {}) }
  return { ...settings, schemas: [...new Set([...settings.schemas, ...otherSchemas])] }
}

function checkedFunctionEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const reserved = Object.keys(env).filter((name) => /^(SUPABASE_|SB_|DENO_)/.test(name))
  if (reserved.length === 0) return env
  throw new StarflowError({
    code: 'SF001',
    message: `The names ${reserved.join(', ')} are reserved by the platform.`,
    detail: 'Names that start with SUPABASE_, SB_ or DENO_ cannot be secrets of an edge function.',
    hint: 'Choose other names in functionEnv.',
    fields: { reserved },
  })
}

/** Secrets lie in it, so it is closed to others; and none of it belongs into a repository. */
function prepareDataDir(dataDir: string): string {
  makeFolder(dataDir, 0o700)
  const ignore = join(dataDir, '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  return dataDir
}

function emptyFolder(path: string): string {
  makeFolder(path)
  return path
}

function adminUrlOf(server: PostgresServer): string {
  return server.url({ role: 'supabase_admin' })
}

/** The roles that log in with a password known here. */
function loginUrl(server: PostgresServer, role: string): string | undefined {
  return role === 'postgres' || role === 'supabase_admin' || role === 'authenticator' ? server.url({ role }) : undefined
}

function pickDefined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
