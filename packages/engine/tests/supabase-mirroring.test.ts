import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { SupabaseWorkflowStateAdapter } from '../src/adapters/supabase/index.ts'
import { start } from './conformance/run-fixture.ts'

const database = await testDatabase()
const gateway = await restGateway(database, ['public', 'starflow'])

test('mirroring is switched for a whole database, so that no other server makes the warm tier drift', async () => {
  const [switching, other] = [SupabaseWorkflowStateAdapter.open(gateway), SupabaseWorkflowStateAdapter.open(gateway)]
  const mirrored = async () => {
    const runId = randomUUID()
    await other.onRunStart(runId, start())
    const rows = await database.sql`select kind from starflow.mirror_outbox where run_id = ${runId} order by id`
    return rows.map(({ kind }) => kind)
  }
  expect(await mirrored()).toEqual([])
  await switching.setMirroring(true)
  expect(await mirrored()).toEqual(['run', 'event'])
  await switching.setMirroring(false)
  expect(await mirrored()).toEqual([])
})
