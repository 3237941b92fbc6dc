import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import postgres from 'postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
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
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), join(folder, 'platform.ts')], {
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
  await vi.waitUntil(() => !isAlive(isolate), { timeout: 5_000 })
})

test('a second platform on the same data folder is refused, and the first one goes on', async () => {
  const { platform } = await startPlatform()
  await expect(startPlatform({ dataDir: platform.dataDir })).rejects.toMatchObject({ code: 'SF507' })
  expect((await fetch(`${platform.apiUrl}/health`)).status).toBe(200)
  const sql = postgres(platform.databaseUrl, { max: 1 })
  onTestFinished(() => sql.end({ timeout: 1 }))
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }])
})
