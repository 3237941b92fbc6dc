import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { SupabaseWorkflowStateAdapter } from '../src/adapters/supabase/index.ts'
import { SWEEP, start } from './conformance/run-fixture.ts'

const database = await testDatabase()
const adapter = SupabaseWorkflowStateAdapter.open(await restGateway(database, ['public', 'starflow']))

test('a log of more events than an answer of the project has rows is read whole', async () => {
  const runId = randomUUID()
  await adapter.onRunStart(runId, start())
  await database.sql`
    insert into starflow.workflow_run_events (run_id, event_type, node_id, payload_json)
    select ${runId}, 'node_complete', 'each[' || n || ']', '{}' from generate_series(0, 2499) n`
  const events = await adapter.readEvents(runId)
  expect(events.map(({ nodeId }) => nodeId)).toEqual([null, ...Array.from({ length: 2500 }, (_, n) => `each[${n}]`)])
  expect(await adapter.readEvents(runId, { afterId: events[2399]!.id })).toEqual(events.slice(2400))
  expect(await adapter.readEvents(runId, { limit: 1200 })).toEqual(events.slice(0, 1200))
  expect(await adapter.readEvents(runId, { limit: 500 })).toHaveLength(500)
})

test('a sweep that finds more lost runs than one transaction takes goes on until there are none', async () => {
  await database.sql`
    insert into starflow.workflow_runs (template_id, leased_by, lease_until, claim_attempts)
    select 'orders', 'gone', now() - interval '1 second', 1 from generate_series(1, 1200)`
  const swept = await adapter.expireOldLeases(SWEEP)
  expect(new Set(swept.map(({ runId }) => runId)).size).toBe(1200)
  expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
})
