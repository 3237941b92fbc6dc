export { resolveDenoBinary } from './functions/deno-binary.ts'
export type { PostgresMajor } from './postgres/binaries.ts'
export { cloneDatabase, dropDatabase } from './postgres/clone-database.ts'
export { preparePlatform } from './postgres/prepare-platform.ts'
export type { LoginRole } from './postgres/server-secrets.ts'
export {
  findPostgres,
  type PostgresServer,
  type StartPostgresOptions,
  startPostgres,
} from './postgres/start-postgres.ts'
