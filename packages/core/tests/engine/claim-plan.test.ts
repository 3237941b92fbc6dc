import { beforeAll, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { EngineCalls } from '../support/engine-calls.ts'

const database = await testDatabase()
// One connection, as the REST layer has it: what it planned on empty tables is kept.
const engine = new EngineCalls(database.connect())
let definitionId: string

beforeAll(async () => {
  definitionId = await engine.definition()
  expect(await engine.claim('r1', definitionId, { runner_pool: 'gpu' })).toBeUndefined()
  expect(await engine.sweep()).toEqual([])
  await database.sql`
    insert into starflow.workflow_runs (template_id, definition_id, status, claim_state, completed_at, started_at, output)
    select 'orders', ${definitionId}, 'success', 'complete', now(), now(), '1' from generate_series(1, 100000)`
  await database.sql`
    insert into starflow.workflow_runs (template_id, definition_id, status, claim_state, runner_pool, queued_at, available_at)
    select 'orders', ${definitionId}, 'queued', 'queued', case when n % 2 = 0 then 'gpu' end, now() - n * interval '1 second', now()
    from generate_series(1, 2000) n`
})

/** What this connection has read of the table of runs, by sequential scans and by each index. */
async function reads(): Promise<{ seqScans: number; rows: number; claimScans: number }> {
  await engine.sql`select pg_stat_force_next_flush()`
  const [row] = await engine.sql<[{ seqScans: number; rows: number; claimScans: number }]>`
    select t.seq_scan::integer as "seqScans", (t.seq_tup_read + t.idx_tup_fetch)::integer as rows, i.idx_scan::integer as "claimScans"
    from pg_stat_user_tables t join pg_stat_user_indexes i on i.relid = t.relid and i.indexrelname = 'idx_workflow_runs_claim_pool'
    where t.relid = 'starflow.workflow_runs'::regclass`
  return row
}

test('a claim among 100 000 runs that have ended and 2 000 that are queued reads some tens of rows, by the index of the claim', async () => {
  const before = await reads()
  const claim = await engine.claim('r1', definitionId, { runner_pool: 'gpu' })
  const after = await reads()
  expect(claim).toBeDefined()
  expect(after.seqScans).toBe(before.seqScans)
  expect(after.claimScans).toBeGreaterThan(before.claimScans)
  expect(after.rows - before.rows).toBeLessThan(200)
})

test('a claim without a pool reads as little', async () => {
  const before = await reads()
  expect(await engine.claim('r1', definitionId)).toBeDefined()
  const after = await reads()
  expect(after.seqScans).toBe(before.seqScans)
  expect(after.rows - before.rows).toBeLessThan(200)
})

test('the oldest of either pool comes first', async () => {
  const [oldest] = await database.sql`
    select id from starflow.workflow_runs where claim_state = 'queued' order by queued_at limit 1`
  expect(await engine.claim('r1', definitionId, { runner_pool: 'gpu' })).toMatchObject({ run_id: oldest!.id })
})

test('a sweep among them reads none but what it is about', async () => {
  const before = await reads()
  expect(await engine.sweep()).toEqual([])
  const after = await reads()
  expect(after.seqScans).toBe(before.seqScans)
  expect(after.rows - before.rows).toBeLessThan(20)
})

test.each([
  ['of all', {}],
  ['of a workspace', { workspace_id: 'celestial' }],
  ['of a workspace and env', { workspace_id: 'celestial', env: 'prod' }],
])('a page of runs %s reads as many rows as it has, wherever it begins', async (_, filter) => {
  const [first] = await engine.call<{ id: string; created_at: Date }>('list_runs', { ...filter, max_rows: 1 })
  for (const cursor of [
    {},
    { before_created_at: first!.created_at, before_id: 'ffffffff-0000-7000-8000-000000000000' },
  ]) {
    const before = await reads()
    expect(await engine.call('list_runs', { ...filter, ...cursor, max_rows: 50 })).toHaveLength(50)
    const after = await reads()
    expect(after.seqScans).toBe(before.seqScans)
    expect(after.rows - before.rows).toBeLessThan(100)
  }
})
