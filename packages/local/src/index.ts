export type { ApiKeys } from './access/api-keys.ts'
export { resolveDenoBinary } from './functions/deno-binary.ts'
export type {
  ExitReason,
  FunctionsEvent,
  FunctionsEventListener,
  RetireReason,
  UnloadReason,
} from './functions/functions-event.ts'
export { FunctionsHost, type FunctionsHostOptions, type IsolateInfo } from './functions/functions-host.ts'
export { DEFAULT_ISOLATE_LIMITS, type IsolateLimits } from './functions/isolate-limits.ts'
export {
  createLocalPlatform,
  type LocalPlatform,
  type LocalPlatformOptions,
  type PlatformEvent,
} from './platform/local-platform.ts'
export { applyMigrations, type Migration, readMigrations } from './platform/migrations.ts'
export type { PlatformPorts } from './platform/ports.ts'
export { DEFAULT_POSTGRES_MAJOR, POSTGRES_MAJORS, type PostgresMajor } from './postgres/binaries.ts'
export { cloneDatabase, dropDatabase } from './postgres/clone-database.ts'
export { preparePlatform } from './postgres/prepare-platform.ts'
export type { LoginRole } from './postgres/server-secrets.ts'
export {
  findPostgres,
  LOCAL_MAX_CONNECTIONS,
  type PostgresServer,
  type StartPostgresOptions,
  startPostgres,
} from './postgres/start-postgres.ts'
export { killAtExit } from './processes/end-at-exit.ts'
export type { ApiSettings } from './rest/api-settings.ts'
export { Ticker, type TickerOptions } from './ticker/ticker.ts'
export type { TickerEvent, TickerEventListener } from './ticker/ticker-event.ts'
