import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { EngineCalls } from '../support/engine-calls.ts'
import { refusal } from '../support/refusal.ts'

const database = await testDatabase()
const { sql } = database

describe.each(['anon', 'authenticated'] as const)('%s', (role) => {
  test('may use neither the schema of runs on runners, nor any function or table of it', async () => {
    const [schema] = await sql`select has_schema_privilege(${role}, 'starflow', 'usage') as is_open`
    const functions = await sql`
      select p.oid::regprocedure::text as name from pg_proc p
      where p.pronamespace = 'starflow'::regnamespace and has_function_privilege(${role}, p.oid, 'execute')`
    const tables = await sql`
      select c.relname from pg_class c
      where c.relnamespace = 'starflow'::regnamespace and c.relkind in ('r', 'v')
        and has_table_privilege(${role}, c.oid, 'select, insert, update, delete, truncate')`
    expect([schema!.is_open, [...functions], [...tables]]).toEqual([false, [], []])
  })

  test.each([
    `select * from starflow.enqueue_run(gen_random_uuid(), 'orders', 'shop', 'prod', '{}')`,
    `select * from starflow.claim_next_queued_run('r1', 1000, '{}')`,
    `select starflow.resume_wait(gen_random_uuid(), 'a', '1')`,
    `select * from starflow.workflow_runs`,
  ])('is refused: %s', async (statement) => {
    const client = database.as(role, { claims: { sub: randomUUID(), role } })
    expect(await refusal(client.unsafe(statement))).toMatchObject({ code: '42501' })
  })
})

test('a grant on a table of runs that was made by mistake opens nothing: row-level security is on', async () => {
  await new EngineCalls(sql).start(randomUUID())
  await sql`grant usage on schema starflow to authenticated`
  await sql`grant select on all tables in schema starflow to authenticated`
  const client = database.as('authenticated', { claims: { sub: randomUUID(), role: 'authenticated' } })
  expect(await client`select * from starflow.workflow_runs`).toEqual([])
  const open = await sql`
    select c.relname from pg_class c
    where c.relnamespace = 'starflow'::regnamespace and c.relkind = 'r' and not c.relrowsecurity`
  expect(open).toEqual([])
  await sql`revoke all on all tables in schema starflow from authenticated`
  await sql`revoke usage on schema starflow from authenticated`
})

test('service_role may execute every function of the schema', async () => {
  const closed = await sql`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace = 'starflow'::regnamespace and not has_function_privilege('service_role', p.oid, 'execute')`
  expect(closed).toEqual([])
})

test('every table of runs on runners, and what is public of its functions, says what it is', async () => {
  const silent = await sql`
    select c.relname::text as name from pg_class c
    where c.relnamespace = 'starflow'::regnamespace and c.relkind = 'r' and obj_description(c.oid, 'pg_class') is null
    union all
    select p.proname::text from pg_proc p
    where p.pronamespace = 'starflow'::regnamespace and p.proname not like '\\_%' and obj_description(p.oid, 'pg_proc') is null`
  expect(silent).toEqual([])
})
