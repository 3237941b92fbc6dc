import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'

const { sql } = await testDatabase()
const core = new StarflowSql(sql)
const missing = async () => (await core.lookAround()).missingFunctions

test('a migrated database has every function that a worker calls', async () => {
  expect(await core.lookAround()).toEqual({
    missingFunctions: [],
    maxConnections: 200,
    workers: [],
    // boolean and boolean[], by their fixed ids
    arrayTypes: expect.arrayContaining([[16, 1000]]),
  })
})

test('a function that is gone, or whose parameters have changed, is named', async () => {
  await sql`alter function pgflow.release_tasks(uuid, jsonb) rename to release_tasks_of_before`
  await sql`drop function pgflow.extend_messages(text, jsonb, integer)`
  await sql`create function pgflow.extend_messages(queue text, messages jsonb, visibility_timeout integer)
    returns setof bigint language sql as 'select 1::bigint'`
  expect(await missing()).toEqual(['release_tasks', 'extend_messages'])
})

test('a function that takes more, but with a default, can be called as before', async () => {
  await sql`drop function pgflow.settle_tasks(uuid, jsonb)`
  await sql`create function pgflow.settle_tasks(worker_id uuid, reports jsonb, later text default null)
    returns setof pgflow.settled_report language sql as 'select null::pgflow.settled_report where false'`
  expect(await missing()).not.toContain('settle_tasks')
  await sql`drop function pgflow.settle_tasks(uuid, jsonb, text)`
  await sql`create function pgflow.settle_tasks(worker_id uuid, reports jsonb, later text)
    returns setof pgflow.settled_report language sql as 'select null::pgflow.settled_report where false'`
  expect(await missing()).toContain('settle_tasks')
})
