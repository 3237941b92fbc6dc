import { beforeEach, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { applyMigrations, readMigrations } from '../src/platform/migrations.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const database = await testDatabase({ template: 'platform' })
const { sql, url } = database

beforeEach(async () => {
  await sql`drop schema if exists supabase_migrations, app cascade`
})

const A = { name: '20260101000000_app.sql', sql: 'create schema app;\ncreate table app.a (id int);' }
const B = { name: '20260102000000_more', sql: 'create table app.b (id int);' }
const history = () => sql`select version, name, statements from supabase_migrations.schema_migrations order by version`

test('migrations are applied as postgres in the order of versions, once, and recorded as the Supabase CLI does', async () => {
  expect(await applyMigrations(url, [B, A])).toEqual(['20260101000000_app', '20260102000000_more'])
  expect(await applyMigrations(url, [A, B])).toEqual([])
  expect(await history()).toEqual([
    { version: '20260101000000', name: 'app', statements: [A.sql] },
    { version: '20260102000000', name: 'more', statements: [B.sql] },
  ])
  expect(await sql`select distinct tableowner from pg_tables where schemaname = 'app'`).toEqual([
    { tableowner: 'postgres' },
  ])
})

test('a history that the Supabase CLI wrote, statement by statement, is the same history', async () => {
  await applyMigrations(url, [A])
  await sql`
    update supabase_migrations.schema_migrations
    set statements = array['create schema app', 'create table app.a (id int)']`
  expect(await applyMigrations(url, [A, B])).toEqual(['20260102000000_more'])
})

test('a migration that fails leaves nothing of itself, keeps those before it, and names file and line', async () => {
  const bad = { name: '20260102000000_bad', sql: 'create table app.half (id int);\n\nselect nope from app.a;' }
  await expect(applyMigrations(url, [A, bad])).rejects.toMatchObject({
    code: 'SF522',
    message: 'Migration 20260102000000_bad failed at line 3: column "nope" does not exist.',
    fields: { sqlState: '42703' },
  })
  expect(await sql`select tablename from pg_tables where schemaname = 'app'`).toEqual([{ tablename: 'a' }])
  expect(await history()).toHaveLength(1)
})

test.each([
  ['a changed migration', [{ ...A, sql: `${A.sql} select 1;` }, B], 'differs from the one'],
  ['a migration that is gone', [B], 'is not among the migrations'],
  ['one that comes before the last', [{ name: '20250101000000_early', sql: 'select 1' }, A, B], 'comes before'],
  ['two of one version', [A, B, { name: '20260102000000_again', sql: 'select 1' }], 'have the version'],
  ['one without a version', [A, B, { name: 'later.sql', sql: 'select 1' }], 'has no version'],
])('%s is refused by SF521 and nothing is applied', async (_what, migrations, message) => {
  await applyMigrations(url, [A, B])
  const before = await history()
  await expect(
    applyMigrations(url, [...migrations, { name: '20270101000000_new', sql: 'create table app.c ()' }]),
  ).rejects.toMatchObject({ code: 'SF521', message: expect.stringContaining(message) })
  expect(await history()).toEqual(before)
  expect(await sql`select from pg_tables where tablename = 'c'`).toHaveLength(0)
})

test('a folder gives its .sql files, and a missing folder is refused', () => {
  const folder = temporaryFolder({ [A.name]: A.sql, 'README.md': '' })
  expect(readMigrations(folder)).toEqual([A])
  expect(() => readMigrations(`${folder}/none`)).toThrow(expect.objectContaining({ code: 'SF521' }))
})
