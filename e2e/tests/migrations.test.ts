import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyMigrations, preparePlatform, readMigrations, startPostgres } from '@starflow/local'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { REPOSITORY, supabase } from '../support/programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'starflow-e2e-'))
const server = await startPostgres({ dataDir: join(folder, 'postgres'), fsync: false })
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A project with our migrations and one of its own. */
const project = join(folder, 'project')
const migrationsDir = join(project, 'supabase/migrations')
mkdirSync(join(project, 'supabase'), { recursive: true })
cpSync(join(REPOSITORY, 'supabase/migrations'), migrationsDir, { recursive: true })
writeFileSync(join(project, 'supabase/config.toml'), 'project_id = "e2e"\n[db]\nmajor_version = 17\n')

test('supabase migration up applies our migrations as role postgres, and our own history agrees with its', async () => {
  await preparePlatform(server)
  const url = `${server.url()}?sslmode=disable`
  const env = { SUPABASE_HOME: join(folder, 'home') }
  const up = await supabase(['migration', 'up', '--db-url', url, '--yes'], env, project)
  expect(up.exitCode, up.stderr).toBe(0)

  const sql = postgres(server.url(), { max: 1, onnotice: () => {} })
  expect(await sql`select to_regprocedure('pgflow.ensure_workers()') is not null as is_there`).toEqual([
    { is_there: true },
  ])
  expect(await applyMigrations(server.url(), readMigrations(migrationsDir))).toEqual([])

  writeFileSync(
    join(migrationsDir, '20270101000000_shop.sql'),
    "create table shop (name text default 'a;b');\n-- the end\n",
  )
  expect(await applyMigrations(server.url(), readMigrations(migrationsDir))).toEqual(['20270101000000_shop'])
  const again = await supabase(['migration', 'up', '--db-url', url, '--yes'], env, project)
  expect(again.exitCode, again.stderr).toBe(0)
  const list = await supabase(['migration', 'list', '--db-url', url], env, project)
  expect(list.stdout).toMatch(/20270101000000[^\n]+20270101000000/)
  expect(await sql`select count(*)::integer from supabase_migrations.schema_migrations`).toEqual([
    { count: readMigrations(migrationsDir).length },
  ])
  await sql.end()
})
