import Database from 'libsql'
import { describe, expect, test } from 'vitest'
import { freezingProxy } from '../../../tests/support/freezing-proxy.ts'
import { ServerProcesses } from './support/server-processes.ts'
import { type TestStorage, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

/** A storage of which each way, the API and the direct connection, leads through a proxy that can freeze. */
async function freezableStorage() {
  const storage = await testStorage('supabase')
  const through = async (variable: 'SUPABASE_URL' | 'SUPABASE_DB_URL') => {
    const url = new URL(storage.env[variable]!)
    const proxy = await freezingProxy(Number(url.port))
    url.port = String(proxy.port)
    return { proxy, env: { [variable]: url.href } }
  }
  const [api, direct] = [await through('SUPABASE_URL'), await through('SUPABASE_DB_URL')]
  const frozen: TestStorage = { ...storage, env: { ...storage.env, ...api.env, ...direct.env } }
  return { storage: frozen, api: api.proxy, direct: direct.proxy }
}

describe('a database that hangs', async () => {
  const { storage, api, direct } = await freezableStorage()
  const processes = new ServerProcesses(storage)
  const thaw = () => {
    api.thaw()
    direct.thaw()
  }

  test.each(['edge', 'runner', 'both'] as const)(
    'keeps no %s from its end',
    async (role) => {
      const server = await processes.start(role, { STARFLOW_DRAIN_TIMEOUT_MS: '500' })
      api.freezeAll()
      direct.freezeAll()
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.log.at(-1)).toMatchObject({ message: 'stopped' })
      thaw()
    },
    120_000,
  )

  test.each([
    ['the API', api],
    ['the direct connection', direct],
  ] as const)(
    'makes a process not ready when it is %s that hangs, and ready again when it answers',
    async (_, way) => {
      const server = await processes.start('runner')
      const readiness = async () => (await server.api.get('/readyz')).status
      await until(readiness, (status) => status === 200)
      way.freezeAll()
      expect(await readiness()).toBe(503)
      way.thaw()
      await until(readiness, (status) => status === 200, 60_000)
      server.child.kill('SIGKILL')
      await server.ended
    },
    120_000,
  )
})

describe('a file that another process has locked', async () => {
  const storage = await testStorage('sqlite')
  const server = await testServer(storage)
  const other = new Database(storage.env.STARFLOW_SQLITE_PATH!, { timeout: 5000 })

  test('makes the process not ready, a start is refused with 503, and what is read goes on meanwhile', async () => {
    other.exec('begin immediate')
    const operator = server.operator.with({ 'starflow-workspace': 'shop' })
    const refused = operator.post('/api/runs', { flow: 'greetV1', input: { name: 'Ada' } })
    const [readyz, health] = await Promise.all([server.nobody.get('/readyz'), server.nobody.get('/health')])
    expect([readyz.status, readyz.body, health.status]).toEqual([503, { status: 'no_database' }, 200])
    expect(await refused).toMatchObject({ status: 503, body: { error: { code: 'SF821' } } })
    other.exec('rollback')
    await until(
      async () => (await server.nobody.get('/readyz')).status,
      (status) => status === 200,
    )
  }, 60_000)
})
