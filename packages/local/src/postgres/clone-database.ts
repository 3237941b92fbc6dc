import postgres from 'postgres'
import type { PostgresServer } from './start-postgres.ts'

/**
 * Copies a database, files and all: a template of 10 MB takes some tens of milliseconds. Nobody may be connected to the
 * template meanwhile. The copy belongs to `postgres`.
 *
 * State that a real pg_cron keeps once per server lives in each database here, so a copy has the jobs of its template.
 */
export async function cloneDatabase(
  server: Pick<PostgresServer, 'url'>,
  { template, name }: { template: string; name: string },
): Promise<void> {
  await asSuperuser(
    server,
    (sql) => sql`create database ${sql(name)} template ${sql(template)} owner postgres strategy file_copy`,
  )
}

/** Drops a database and ends its connections. One that does not exist is fine. */
export async function dropDatabase(server: Pick<PostgresServer, 'url'>, name: string): Promise<void> {
  await asSuperuser(server, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
}

async function asSuperuser(
  server: Pick<PostgresServer, 'url'>,
  work: (sql: postgres.Sql) => PromiseLike<unknown>,
): Promise<void> {
  // Not `postgres`: a program connected there could be the template's last user.
  const sql = postgres(server.url({ role: 'supabase_admin', database: 'template1' }), { max: 1, onnotice: () => {} })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}
