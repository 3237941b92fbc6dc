import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isAlive } from '../../../tests/support/is-alive.ts'
import { createLocalPlatform } from '../src/platform/local-platform.ts'
import { findPostgres } from '../src/postgres/start-postgres.ts'
import { startPlatform } from './support/platform.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const ENV_FUNCTION = 'Deno.serve(() => Response.json(Deno.env.toObject()))'
const POLL = { timeout: 60_000, interval: 20 }

function client(url: string) {
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
}

async function takePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as { port: number }).port
}

/** The ids of processes whose command line names this folder. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
      } catch {
        return false
      }
    })
}

test('a platform gives a database, a gateway, keys and functions that know them, and dispose leaves nothing', async () => {
  const folder = temporaryFolder({ 'functions/env/index.ts': ENV_FUNCTION })
  const { platform, log } = await startPlatform({
    dataDir: join(folder, 'data'),
    functionsDir: join(folder, 'functions'),
    functionEnv: { MY_SECRET: 'mine' },
  })
  const sql = client(platform.databaseUrl)
  expect(await sql`select current_user as who, rolsuper from pg_roles where rolname = current_user`).toMatchObject([
    { who: 'postgres', rolsuper: false },
  ])
  expect((await fetch(`${platform.apiUrl}/health`)).status).toBe(200)
  const env = await (await fetch(`${platform.apiUrl}/functions/v1/env`)).json()
  expect(env).toEqual({
    SUPABASE_URL: platform.apiUrl,
    SUPABASE_ANON_KEY: platform.anonKey,
    SUPABASE_SERVICE_ROLE_KEY: platform.serviceRoleKey,
    SUPABASE_DB_URL: platform.databaseUrl,
    SB_EXECUTION_ID: platform.functions.isolates()[0]!.id,
    STARFLOW_WALL_CLOCK_MS: '400000',
    MY_SECRET: 'mine',
  })
  expect(log.of('platform.started')).toMatchObject([{ ports: platform.ports }])

  const pids = [platform.functions.isolates()[0]!.pid, findPostgres(join(folder, 'data/postgres'))!.pid]
  expect(pids.map(isAlive)).toEqual([true, true])
  await platform.dispose()
  await platform.dispose()
  expect(pids.map(isAlive)).toEqual([false, false])
  expect(processesOf(folder)).toEqual([])
  await expect(fetch(`${platform.apiUrl}/health`)).rejects.toThrow()
})

test('a cron job wakes a function through the gateway, until functions are stopped; the database goes on', async () => {
  const folder = temporaryFolder({
    'functions/ping/index.ts': `Deno.serve(async (request) => Response.json({ got: await request.json() }))`,
  })
  const { platform } = await startPlatform({
    functionsDir: join(folder, 'functions'),
    migrations: [{ name: '20260101000000_extensions', sql: 'create extension pg_cron; create extension pg_net;' }],
  })
  const sql = client(platform.databaseUrl)
  const command = `select net.http_post('${platform.apiUrl}/functions/v1/ping', '{"n": 1}')`
  await sql`select cron.schedule('ping', '1 second', ${command})`
  await vi.waitUntil(async () => (await sql`select from net._http_response where status_code = 200`).length > 0, POLL)
  expect(await sql`select content from net._http_response limit 1`).toEqual([{ content: '{"got":{"n":1}}' }])
  expect(platform.functions.isolates()).toMatchObject([{ name: 'ping' }])
  const { pid } = platform.functions.isolates()[0]!
  await platform.stopFunctions()
  await platform.stopFunctions()
  expect([isAlive(pid), platform.functions.isolates()]).toEqual([false, []])
  expect(await sql`select status_code from net._http_response limit 1`).toEqual([{ status_code: 200 }])
})

test('a second start has the same data, keys and ports', async () => {
  const dataDir = join(temporaryFolder(), 'data')
  const first = (await startPlatform({ dataDir })).platform
  await client(first.databaseUrl)`create table kept as select 42 as answer`
  await first.dispose()
  const second = (await startPlatform({ dataDir })).platform
  expect(await client(second.databaseUrl)`select answer from kept`).toEqual([{ answer: 42 }])
  expect(second).toMatchObject({
    ports: first.ports,
    anonKey: first.anonKey,
    serviceRoleKey: first.serviceRoleKey,
    jwtSecret: first.jwtSecret,
  })
})

test('secrets lie in files that only their owner can read', async () => {
  const { platform } = await startPlatform()
  expect(statSync(join(platform.dataDir, 'keys.json')).mode & 0o777).toBe(0o600)
  expect(statSync(platform.dataDir).mode & 0o777).toBe(0o700)
})

test.each(['api', 'database'] as const)(
  'a requested %s port in use is refused by SF501, which names the user',
  async (purpose) => {
    const port = await takePort()
    const dataDir = join(temporaryFolder(), 'data')
    await expect(startPlatform({ dataDir, ports: { [purpose]: port } })).rejects.toMatchObject({
      code: 'SF501',
      message: `Port ${port} (${purpose}) is in use.`,
      detail: expect.stringContaining(`(pid ${process.pid})`),
    })
    expect(findPostgres(join(dataDir, 'postgres'))).toBeUndefined()
  },
)

test('a port of the last start that is taken meanwhile is replaced by a free one', async () => {
  const taken = await takePort()
  const dataDir = temporaryFolder({ 'ports.json': JSON.stringify({ api: taken, database: taken }) })
  const { platform } = await startPlatform({ dataDir })
  expect(platform.ports.api).not.toBe(taken)
  expect(platform.ports.database).not.toBe(taken)
  expect(JSON.parse(readFileSync(join(dataDir, 'ports.json'), 'utf8'))).toEqual(platform.ports)
})

test('a start that fails half-way ends what it started', async () => {
  const folder = temporaryFolder()
  const dataDir = join(folder, 'data')
  await expect(startPlatform({ dataDir, functionsDir: join(folder, 'missing') })).rejects.toMatchObject({
    code: 'SF001',
    message: expect.stringContaining('missing'),
  })
  expect(findPostgres(join(dataDir, 'postgres'))).toBeUndefined()
  expect(processesOf(dataDir)).toEqual([])
})

test('names that belong to the platform are refused as secrets of functions', async () => {
  await expect(createLocalPlatform({ functionEnv: { SUPABASE_URL: 'x' } })).rejects.toMatchObject({ code: 'SF001' })
})

test('an unknown path answers 404, and an unknown service too', async () => {
  const { platform } = await startPlatform()
  for (const path of ['/functions/v1x', '/functions/v1/none', '/auth/v1/user', '/storage/v1/object']) {
    expect((await fetch(platform.apiUrl + path)).status, path).toBe(404)
  }
})

test('a platform that runs tells programs of its owner where it is and with which keys, and nobody afterwards', async () => {
  const { platform } = await startPlatform()
  const file = join(platform.dataDir, 'status.json')
  const { apiUrl, databaseUrl, anonKey, serviceRoleKey, publishableKey, secretKey, jwtSecret } = platform
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    apiUrl,
    databaseUrl,
    anonKey,
    serviceRoleKey,
    publishableKey,
    secretKey,
    jwtSecret,
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await platform.dispose()
  expect(existsSync(file)).toBe(false)
})
