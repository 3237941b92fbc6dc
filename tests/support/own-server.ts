import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, preparePlatform, startPostgres } from '@starflow/local'
import postgres from 'postgres'
import { afterAll, inject } from 'vitest'
import { readSchemaFiles } from '../../scripts/schema-files.ts'
import { loadSchema } from './load-schema.ts'

/** A server of one test file, with the SQL core in its database `postgres`, that may crash. Ended after the file's tests. */
export interface OwnServer {
  /** Connection URL of role `postgres`; another one after each restart. */
  url(): string
  /** Ends all of its processes at once, as `pg_ctl stop -m immediate` does: no checkpoint, no goodbye. */
  crash(): Promise<void>
  restart(): Promise<void>
  /** What the server has logged since its last start. */
  log(): string
}

/** With fsync on: what it has promised is to be there after a crash. Call it at the top of the file. */
export async function ownServer(): Promise<OwnServer> {
  // The name tells a later test run whose it was, should this one be killed before it can tidy up.
  const folder = mkdtempSync(join(tmpdir(), `starflow-tests-${process.pid}-own-`))
  let server: PostgresServer | undefined
  const launch = async () => {
    server = await startPostgres({
      dataDir: join(folder, 'data'),
      major: inject('testServer').major,
      fsync: true,
      settings: { shared_buffers: '64MB' },
    })
  }
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  await launch()
  await preparePlatform(server!, 'postgres')
  const sql = postgres(server!.url(), { max: 1, onnotice: () => {} })
  await loadSchema(sql, readSchemaFiles()).finally(() => sql.end())
  return {
    url: () => server!.url(),
    crash: async () => {
      process.kill(server!.pid, 'SIGQUIT')
      // Waits until it has gone, and gives its folder back.
      await server!.stop()
    },
    restart: launch,
    log: () => readFileSync(join(server!.dataDir, 'server.log'), 'utf8'),
  }
}
