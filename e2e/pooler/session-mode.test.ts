import { openDatabase, parseDatabaseUrl } from '@starflow/core'
import { expect, inject, test } from 'vitest'
import { testDatabase } from '../../tests/support/test-database.ts'
import { startPgbouncer } from '../support/pgbouncer.ts'

const { name } = await testDatabase()

test('a pooler in session mode takes connections of ours, which prepare statements and limit them', async () => {
  const server = new URL(inject('testServer').urls.postgres)
  const password = decodeURIComponent(server.password)
  const pooler = await startPgbouncer({ port: Number(server.port), user: server.username, password }, 'session')
  const url = `postgres://${server.username}@127.0.0.1:${pooler.port}/${name}`
  const sql = openDatabase(parseDatabaseUrl(url), { applicationName: 'session mode', callTimeoutMs: 10_000 })
  try {
    const read = () => sql`
      select count(*)::integer as prepared, current_setting('statement_timeout') as timeout, now() as at from pg_prepared_statements`
    expect(await read()).toEqual([{ prepared: 1, timeout: '9s', at: expect.any(Date) }])
    expect(await read()).toEqual([{ prepared: 1, timeout: '9s', at: expect.any(Date) }])
  } finally {
    await sql.end()
    await pooler.stop()
  }
})
