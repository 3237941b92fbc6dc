import fs from 'node:fs'
import postgres from 'postgres'
import { readServerSecrets, scramVerifier } from './server-secrets.ts'
import type { PostgresServer } from './start-postgres.ts'

/**
 * Gives a database what a Supabase project has: the roles `postgres` (not a superuser), `anon`, `authenticated`,
 * `service_role` and `authenticator`, and the schemas `extensions`, `auth`, `realtime` and `vault`. Running it again is
 * fine. `pg_cron`, `pg_net` and `pgmq` are left to migrations, which create them as `postgres`.
 */
export async function preparePlatform(server: PostgresServer, database = 'postgres'): Promise<void> {
  const secrets = readServerSecrets(server.dataDir)
  const sql = postgres(server.url({ role: 'supabase_admin', database }), { max: 1, onnotice: () => {} })
  try {
    await sql.unsafe(readSql('platform-roles')).simple()
    for (const role of ['postgres', 'authenticator'] as const) {
      await sql.unsafe(`alter role ${role} password '${scramVerifier(secrets[role])}'`)
    }
    await sql`alter database ${sql(database)} owner to postgres`
    await sql.unsafe(readSql('platform-database')).simple()
  } finally {
    await sql.end()
  }
}

function readSql(name: string): string {
  return fs.readFileSync(new URL(`./${name}.sql`, import.meta.url), 'utf8')
}
