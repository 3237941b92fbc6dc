import { describe, expect, test } from 'vitest'
import { testDatabase } from './test-database.ts'

const database = await testDatabase({ template: 'platform' })

describe('a test database', () => {
  test('is connected to as postgres, which is not a superuser', async () => {
    const [row] = await database.sql`select current_user as name, current_database() as database, rolsuper
      from pg_roles where rolname = current_user`
    expect(row).toEqual({ name: 'postgres', database: database.name, rolsuper: false })
  })

  test.each(['anon', 'authenticated', 'service_role'] as const)('gives clients that are %s', async (role) => {
    const [row] = await database.as(role, { claims: { sub: 'someone' } })`
      select current_user as name, current_setting('request.jwt.claims') as claims`
    expect(row).toEqual({ name: role, claims: '{"sub":"someone"}' })
  })

  test('is gone after dispose, which may be called twice', async () => {
    const other = await testDatabase({ template: 'platform' })
    await other.sql`select 1`
    await other.dispose()
    await other.dispose()
    expect(await database.sql`select from pg_database where datname = ${other.name}`).toHaveLength(0)
  })

  test('runs the Postgres that PG asks for', async () => {
    const [row] = await database.sql`select current_setting('server_version') as version`
    expect(row?.version).toMatch(new RegExp(`^${process.env.PG ?? '17'}\\.`))
  })
})
