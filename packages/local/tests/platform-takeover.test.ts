import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import postgres from 'postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { isAlive } from '../../../tests/support/is-alive.ts'
import { findPostgres } from '../src/postgres/start-postgres.ts'
import { startPlatform } from './support/platform.ts'
import { temporaryFolder, writeFile } from './support/temporary-folder.ts'

test('the next start takes over what a killed platform left: data, ports and server, but no isolate', async () => {
  const folder = temporaryFolder({ 'functions/a/index.ts': `Deno.serve(() => new Response('ok'))` })
  const source = pathToFileURL(join(import.meta.dirname, '../src/index.ts')).href
  const cacheDir = join(tmpdir(), 'starflow-test-postgres')
  writeFile(
    join(folder, 'platform.ts'),
    `import { createLocalPlatform } from '${source}'
createLocalPlatform({
  dataDir: '${folder}/data',
  functionsDir: '${folder}/functions',
  postgres: { fsync: false, cacheDir: '${cacheDir}' },
  migrations: [{ name: '1_kept', sql: 'create table kept as select 42 as answer' }],
}).then(async (platform) => {
  await fetch(platform.apiUrl + '/functions/v1/a')
  console.log(JSON.stringify({ ports: platform.ports, isolate: platform.functions.isolates()[0].pid }))
})`,
  )
  const child = spawn(process.execPath, [...COMPILED, join(folder, 'platform.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
    const orphan = existsSync(join(folder, 'data/postgres')) ? findPostgres(join(folder, 'data/postgres')) : undefined
    if (orphan !== undefined) process.kill(orphan.pid, 'SIGQUIT')
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { ports, isolate } = JSON.parse(line) as { ports: { database: number; api: number }; isolate: number }
  child.kill('SIGKILL')
  await once(child, 'exit')

  const { platform } = await startPlatform({
    dataDir: join(folder, 'data'),
    // Named, and held by the server that was left behind: that is not a port in use.
    ports: { database: ports.database },
    migrations: [{ name: '1_kept', sql: 'create table kept as select 42 as answer' }],
  })
  expect(platform.ports).toEqual(ports)
  const sql = postgres(platform.databaseUrl, { max: 1 })
  onTestFinished(() => sql.end({ timeout: 1 }))
  expect(await sql`select answer from kept`).toEqual([{ answer: 42 }])
  await vi.waitUntil(() => !isAlive(isolate), { timeout: 60_000 })
})

test('a second platform on the same data folder is refused, changes nothing there, and the first one goes on', async () => {
  const { platform } = await startPlatform()
  // As it is when both begin at once and the second one is the first to write.
  rmSync(join(platform.dataDir, 'keys.json'))
  await expect(startPlatform({ dataDir: platform.dataDir })).rejects.toMatchObject({ code: 'SF507' })
  expect(existsSync(join(platform.dataDir, 'keys.json'))).toBe(false)
  expect((await fetch(`${platform.apiUrl}/health`)).status).toBe(200)
  const sql = postgres(platform.databaseUrl, { max: 1 })
  onTestFinished(() => sql.end({ timeout: 1 }))
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }])
})

test('two folders with the same last ports start at the same time: the ports go to one, and others to the other', async () => {
  const last = { database: await freePort(), api: await freePort() }
  const start = () => {
    const dataDir = temporaryFolder({ 'ports.json': JSON.stringify(last) })
    return { dataDir, started: startPlatform({ dataDir }) }
  }
  const first = start()
  // It has looked at the ports, and has yet to make its database before it takes them.
  await vi.waitUntil(() => readdirSync(first.dataDir).some((name) => name.startsWith('.postgres-draft')), {
    timeout: 60_000,
  })
  const both = await Promise.all([first.started, start().started])
  for (const name of ['database', 'api'] as const) {
    const ports = both.map(({ platform }) => platform.ports[name])
    expect(ports).toContain(last[name])
    expect(ports[0]).not.toBe(ports[1])
  }
})

test('while it is asked whether to make a database anew, nobody else starts it, nor after a yes sees half of it', async () => {
  const migrations = (type: string) => ({ migrations: [{ name: '1_shop', sql: `create table shop (id ${type})` }] })
  const { platform } = await startPlatform(migrations('int'))
  const { dataDir, anonKey } = platform
  await platform.dispose()
  const meanwhile: unknown[] = []
  const { platform: again } = await startPlatform({
    ...migrations('bigint'),
    dataDir,
    mayRecreate: async () => {
      const other = startPlatform({ ...migrations('bigint'), dataDir, mayRecreate: () => true })
      meanwhile.push(await other.catch((error: unknown) => error))
      return true
    },
  })
  expect(meanwhile).toEqual([expect.objectContaining({ code: 'SF507' })])
  expect(again.anonKey).toBe(anonKey)
  expect(readdirSync(dataDir).filter((name) => name.includes('postgres'))).toEqual(['postgres'])
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
