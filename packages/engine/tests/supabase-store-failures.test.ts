import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { SupabaseWorkflowStateAdapter } from '../src/adapters/supabase/index.ts'
import { start } from './conformance/run-fixture.ts'

const database = await testDatabase()
const gateway = await restGateway(database, ['public', 'starflow'])
const closed = await restGateway(database, ['public'])
const bare = await testDatabase({ template: 'platform' })
const unmigrated = await restGateway(bare, ['public'])
const SECRET = 'nobody may read this'

async function failureOf(access: { supabaseUrl: string; serviceRoleKey: string }): Promise<unknown> {
  const adapter = SupabaseWorkflowStateAdapter.open(access)
  return await adapter.onRunStart(randomUUID(), start({ input: SECRET })).catch((error: unknown) => error)
}

describe('a project that does not do what it is asked is told of with the way out', () => {
  test.each([
    ['nobody is there', { ...gateway, supabaseUrl: 'http://127.0.0.1:9' }, /^No answer came/, /URL/],
    ['the key is not one of the project', { ...gateway, serviceRoleKey: 'wrong' }, /401/, /service role key/],
    ['the key is that of clients', { ...gateway, serviceRoleKey: gateway.anonKey }, /42501/, /service role key/],
    ['the schema is not exposed', closed, /PGRST106/, /\[api\] schemas/],
    ['neither schema nor functions are there', unmigrated, /PGRST106/, /\[api\] schemas/],
  ])('%s', async (_, access, detail, hint) => {
    expect(await failureOf(access)).toMatchObject({
      name: 'StateStoreError',
      code: 'SF803',
      message: `The call of starflow.on_run_start on ${access.supabaseUrl} failed.`,
      detail: expect.stringMatching(detail),
      hint: expect.stringMatching(hint),
      fields: { function: 'on_run_start', url: access.supabaseUrl, runId: expect.any(String) },
    })
  })

  test('a function that an older version of the schema does not have asks for the migrations', async () => {
    await database.sql`alter function starflow.read_run(uuid) rename to read_run_later`
    const adapter = SupabaseWorkflowStateAdapter.open(gateway)
    await expect(adapter.readRun(randomUUID())).rejects.toMatchObject({
      code: 'SF803',
      detail: expect.stringContaining('PGRST202'),
      hint: expect.stringContaining('migrations'),
    })
    await database.sql`alter function starflow.read_run_later(uuid) rename to read_run`
  })
})

test('no failure repeats what was sent or what is kept, not even in its cause', async () => {
  const adapter = SupabaseWorkflowStateAdapter.open(gateway)
  const runId = randomUUID()
  await adapter.onRunStart(runId, start({ input: SECRET }))
  // Postgres tells the whole row that a check refuses, in the details of its error.
  await database.sql`alter table starflow.workflow_runs add constraint nothing_ends check (output is null)`
  const refused = await adapter.onRunComplete(runId, { output: SECRET, durationMs: 1 }).catch((error: unknown) => error)
  await database.sql`alter table starflow.workflow_runs drop constraint nothing_ends`
  expect(refused).toMatchObject({ code: 'SF803', fields: { sqlState: '23514' } })
  const failures = [refused, await failureOf({ ...gateway, serviceRoleKey: gateway.anonKey })]
  for (const failure of failures) {
    const { message, stack, cause } = failure as Error
    expect(JSON.stringify([failure, message, stack, cause])).not.toContain(SECRET)
    expect(JSON.stringify([failure, message, stack, cause])).not.toContain(gateway.serviceRoleKey)
  }
})
