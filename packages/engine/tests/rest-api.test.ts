import { describe, expect, test } from 'vitest'
import { freezingProxy } from '../../../tests/support/freezing-proxy.ts'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { RestApi, SupabaseWorkflowStateAdapter } from '../src/adapters/supabase/index.ts'

const database = await testDatabase()
const gateway = await restGateway(database, ['public', 'starflow'])

/** The gateway behind a proxy that can freeze, and a limit that a test can wait for. */
async function behindProxy() {
  const proxy = await freezingProxy(Number(new URL(gateway.supabaseUrl).port))
  return { proxy, access: { ...gateway, supabaseUrl: `http://127.0.0.1:${proxy.port}`, timeoutMs: 1000 } }
}

describe('connections to the API that freeze without a word', () => {
  test('one that froze costs one call, and the next call opens a new one', async () => {
    const { proxy, access } = await behindProxy()
    const adapter = SupabaseWorkflowStateAdapter.open(access)
    // Several calls at once leave several connections for the next calls.
    const id = await adapter.databaseId()
    await Promise.all(Array.from({ length: 5 }, () => adapter.databaseId()))
    proxy.freeze()
    await expect(adapter.databaseId()).rejects.toMatchObject({
      code: 'SF803',
      detail: 'No answer came: There was no answer within 1000 ms.',
      fields: { status: 0 },
    })
    expect(await adapter.databaseId()).toBe(id)
    await adapter.close()
  })

  test('a call fails in time also where no new connection works', async () => {
    const { proxy, access } = await behindProxy()
    const api = new RestApi(access)
    proxy.freezeAll()
    await expect(api.call('database_id', {})).rejects.toThrow('There was no answer within 1000 ms.')
    proxy.thaw()
    expect(await api.call('database_id', {})).toMatchObject({ status: 200 })
    api.close()
  })

  test('whoever closes the adapter waits for no call that hangs', async () => {
    const { proxy, access } = await behindProxy()
    const adapter = SupabaseWorkflowStateAdapter.open({ ...access, timeoutMs: 3_600_000 })
    proxy.freezeAll()
    const hanging = adapter.databaseId().catch((error: unknown) => error)
    await adapter.close()
    expect(await hanging).toMatchObject({ code: 'SF803' })
  })
})
