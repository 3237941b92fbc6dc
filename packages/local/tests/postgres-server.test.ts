import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isStarflowError, type StarflowError } from '@starflow/errors'
import {
  cloneDatabase,
  dropDatabase,
  findPostgres,
  type PostgresServer,
  preparePlatform,
  type StartPostgresOptions,
  startPostgres,
} from '@starflow/local'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { ensureDataFolder } from '../src/postgres/data-folder.ts'
import { takeDataFolder } from '../src/postgres/data-folder-owner.ts'
import { processIdentity } from '../src/postgres/process-identity.ts'
import { serverUser } from '../src/postgres/server-user.ts'

const MAJOR = inject('testServer').major
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const HOLD_POSTGRES = fileURLToPath(new URL('./fixtures/hold-postgres.ts', import.meta.url))

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'starflow-postgres-server-'))
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

let folders = 0
const options = (more: Partial<StartPostgresOptions> = {}): StartPostgresOptions => ({
  dataDir: path.join(home, `case-${++folders}`, 'data'),
  cacheDir: path.join(home, 'overlays'),
  major: MAJOR,
  fsync: false,
  settings: { shared_buffers: '16MB' },
  ...more,
})

/** A server that ends with the test, whatever becomes of it. */
async function start(more: Partial<StartPostgresOptions> = {}): Promise<PostgresServer> {
  const server = await startPostgres(options(more))
  onTestFinished(() => server.stop())
  return server
}

/** A process of its own that has started a server. It does not end by itself. */
async function startInOtherProcess(given: StartPostgresOptions) {
  const child = spawn(process.execPath, [...COMPILED, HOLD_POSTGRES, JSON.stringify(given)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
  onTestFinished(async () => {
    await kill()
    const left = findPostgres(given.dataDir)
    if (left !== undefined) process.kill(left.pid, 'SIGQUIT')
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { ...(JSON.parse(line) as { pid: number; port: number }), childPid: child.pid, kill }
}

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await sql.unsafe(text)
  } finally {
    await sql.end()
  }
}

async function refusal(work: Promise<unknown>): Promise<StarflowError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isStarflowError(error)) throw new Error('expected a StarflowError', { cause: error })
  return error
}

describe('startPostgres', () => {
  test('starts the major version on 127.0.0.1 only, in UTF-8 with a sort order of its own', async () => {
    const server = await start()
    const [row] = await query(
      server.url({ role: 'supabase_admin' }),
      `select current_setting('server_version_num')::int / 10000 as major, current_setting('server_encoding') as encoding,
              current_setting('listen_addresses') as listens, current_setting('unix_socket_directories') as sockets,
              lower('É') as lower, 'Z' < 'a' as by_codepoint, datcollate as collate from pg_database where datname = 'template1'`,
    )
    expect(row).toEqual({
      major: MAJOR,
      encoding: 'UTF8',
      listens: '127.0.0.1',
      sockets: '',
      lower: MAJOR === 17 ? 'é' : 'É',
      by_codepoint: true,
      collate: 'C',
    })
    expect(server).toMatchObject({ major: MAJOR, port: expect.any(Number), pid: expect.any(Number) })
  })

  test('asks for a password, which only its owner can read', async () => {
    const server = await start()
    const url = new URL(server.url({ role: 'supabase_admin' }))
    url.password = 'wrong'
    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    const secrets = path.join(server.dataDir, 'starflow-secrets.json')
    expect(fs.statSync(secrets).mode & 0o777).toBe(0o600)
    expect(fs.readFileSync(path.join(server.dataDir, 'pg_hba.conf'), 'utf8')).not.toMatch(/^[^#]*\btrust\b/m)
  })

  test('keeps passwords and secrets out of its log', async () => {
    const server = await start({ settings: { log_statement: 'all' } })
    await preparePlatform(server)
    await query(server.url(), 'select 1')
    const log = fs.readFileSync(path.join(server.dataDir, 'server.log'), 'utf8')
    expect(log).toContain('alter role postgres password')
    for (const role of ['supabase_admin', 'postgres', 'authenticator'] as const) {
      expect(log).not.toContain(new URL(server.url({ role })).password)
    }
  })

  test('takes settings, and a port', async () => {
    const port = await freePort()
    const server = await start({ port, settings: { max_connections: 17, shared_buffers: '16MB' } })
    expect(server.port).toBe(port)
    expect(await query(server.url({ role: 'supabase_admin' }), 'show max_connections')).toEqual([
      { max_connections: '17' },
    ])
  })

  test('stop leaves no process, and twice is fine', async () => {
    const server = await start()
    const client = postgres(server.url({ role: 'supabase_admin' }), { max: 1 })
    const [row] = await client`select pg_backend_pid() as pid`
    await server.stop()
    await server.stop()
    await client.end({ timeout: 0 })
    expect(processIdentity(server.pid)).toBeUndefined()
    expect(processIdentity(row?.pid)).toBeUndefined()
    expect(findPostgres(server.dataDir)).toBeUndefined()
  })

  test('a second start finds the data of the first, and removes what killed processes have left beside it', async () => {
    const given = options()
    const first = await startPostgres(given)
    await preparePlatform(first)
    await query(first.url(), 'create table kept as select 1 as one')
    const url = new URL(first.url())
    await first.stop()
    const parent = path.dirname(given.dataDir)
    const left = ['.data-draft-a', '.data-deleted-b'].map((name) => path.join(parent, name))
    const used = path.join(parent, '.data-draft-c')
    for (const folder of [...left, used]) fs.mkdirSync(folder)
    const twoHoursAgo = new Date(Date.now() - 7_200_000)
    for (const folder of left) fs.utimesSync(folder, twoHoursAgo, twoHoursAgo)
    const second = await start(given)
    expect(await query(second.url(), 'select one from kept')).toEqual([{ one: 1 }])
    expect(new URL(second.url()).password).toBe(url.password)
    expect(fs.readdirSync(parent).toSorted()).toEqual(['.data-draft-c', 'data'])
  })

  test('installations are shared by data folders, and writing one never touches the package', async () => {
    const first = await start()
    const second = await start()
    expect(first.pid).not.toBe(second.pid)
    const overlays = fs.readdirSync(path.join(home, 'overlays'))
    expect(overlays).toEqual([expect.stringMatching(new RegExp(`^postgres-${MAJOR}\\..*-[0-9a-f]{12}$`))])
    const extensions = path.join(home, 'overlays', overlays[0]!, 'share', 'postgresql', 'extension')
    expect(fs.lstatSync(path.join(extensions, 'pgmq.control')).isSymbolicLink()).toBe(false)
    expect(
      fs.existsSync(path.join(path.dirname(fs.realpathSync(path.join(extensions, 'plpgsql.control'))), 'pgmq.control')),
    ).toBe(false)
  })
})

describe('a data folder has one owner', () => {
  test('a second start in the same process is refused', async () => {
    const given = options()
    const server = await start(given)
    expect(await refusal(startPostgres(given))).toMatchObject({ code: 'SF507', fields: { pid: process.pid } })
    expect(processIdentity(server.pid)).toBeDefined()
  })

  test('a start while another process has it is refused, and that server lives on', async () => {
    const given = options()
    const other = await startInOtherProcess(given)
    expect(await refusal(startPostgres(given))).toMatchObject({ code: 'SF507', fields: { pid: other.childPid } })
    expect(findPostgres(given.dataDir)).toMatchObject({ pid: other.pid, port: other.port })
    expect(await query(findPostgres(given.dataDir)!.url({ role: 'supabase_admin' }), 'select 1 as one')).toEqual([
      { one: 1 },
    ])
  })

  test('of two starts at once on a new folder one wins, and the other is refused', async () => {
    const given = options()
    const results = await Promise.allSettled([startPostgres(given), startPostgres(given)])
    const servers = results.filter((result) => result.status === 'fulfilled').map((result) => result.value)
    onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))))
    expect(servers).toHaveLength(1)
    expect(results.find((result) => result.status === 'rejected')?.reason).toMatchObject({ code: 'SF507' })
    expect(fs.readdirSync(path.dirname(given.dataDir))).toEqual(['data'])
  })

  test('of two that find a dead owner one takes the folder, however late the other acts on what it found', () => {
    const folder = path.join(home, `case-${++folders}`)
    fs.mkdirSync(folder)
    const file = path.join(folder, 'starflow-owner.json')
    fs.writeFileSync(file, JSON.stringify({ pid: 1, identity: 'of an earlier process', launch: 'before' }))
    const { readFileSync } = fs
    let faster: ReturnType<typeof takeDataFolder> | undefined
    vi.spyOn(fs, 'readFileSync').mockImplementation(((...args: Parameters<typeof readFileSync>) => {
      const found = readFileSync(...args)
      if (args[0] === file) {
        vi.restoreAllMocks()
        faster = takeDataFolder(folder, 'now')
      }
      return found
    }) as typeof readFileSync)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(() => takeDataFolder(folder, 'now')).toThrow(expect.objectContaining({ code: 'SF507' }))
    expect(faster).toMatchObject({ previousLaunch: 'before' })
    expect(fs.readdirSync(folder)).toEqual(['starflow-owner.json'])
  })

  test('a server whose parent was killed is taken over, and ended by stop', async () => {
    const given = options()
    const other = await startInOtherProcess(given)
    await other.kill()
    expect(processIdentity(other.pid)).toBeDefined()
    const server = await start(given)
    expect(server).toMatchObject({ pid: other.pid, port: other.port })
    expect(await query(server.url({ role: 'supabase_admin' }), 'select 1 as one')).toEqual([{ one: 1 }])
    await server.stop()
    expect(processIdentity(other.pid)).toBeUndefined()
  })

  test('an orphan that was launched otherwise is replaced', async () => {
    const given = options()
    const other = await startInOtherProcess(given)
    await other.kill()
    const server = await start({ ...given, settings: { shared_buffers: '17MB' } })
    expect(server.pid).not.toBe(other.pid)
    expect(processIdentity(other.pid)).toBeUndefined()
    expect(await query(server.url({ role: 'supabase_admin' }), 'show shared_buffers')).toEqual([
      { shared_buffers: '17MB' },
    ])
  })

  test('a pid file that a crash left behind does not block a start', async () => {
    const given = options()
    const first = await startPostgres(given)
    process.kill(first.pid, 'SIGKILL')
    await expect.poll(() => processIdentity(first.pid)).toBeUndefined()
    expect(fs.existsSync(path.join(given.dataDir, 'postmaster.pid'))).toBe(true)
    expect(findPostgres(given.dataDir)).toBeUndefined()
    await first.stop()
    const second = await start(given)
    expect(await query(second.url({ role: 'supabase_admin' }), 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

test('what a killed server has left of itself is waited for', async () => {
  const given = options()
  const first = await startPostgres(given)
  const client = postgres(first.url({ role: 'supabase_admin' }), { max: 1 })
  const [row] = await client<[{ pid: number }]>`select pg_backend_pid() as pid`
  process.kill(row.pid, 'SIGSTOP')
  process.kill(first.pid, 'SIGKILL')
  await expect.poll(() => processIdentity(first.pid)).toBeUndefined()
  await first.stop()
  const second = start(given)
  const log = path.join(given.dataDir, 'server.log')
  await expect.poll(() => fs.readFileSync(log, 'utf8')).toContain('pre-existing shared memory block')
  process.kill(row.pid, 'SIGKILL')
  expect(await query((await second).url({ role: 'supabase_admin' }), 'select 1 as one')).toEqual([{ one: 1 }])
  await client.end({ timeout: 0 })
})

describe('a pid file that names another process by now', () => {
  /** What a server leaves that was killed, with its owner: its pid file, whose id was given to `pid` meanwhile. */
  async function leaveBehind(pid: number): Promise<StartPostgresOptions> {
    const given = options()
    const other = await startInOtherProcess(given)
    const file = path.join(given.dataDir, 'postmaster.pid')
    const text = fs.readFileSync(file, 'utf8')
    await other.kill()
    process.kill(other.pid, 'SIGQUIT')
    await expect.poll(() => processIdentity(other.pid), { timeout: 60_000 }).toBeUndefined()
    fs.writeFileSync(file, text.replace(/^\d+/, String(pid)))
    return given
  }

  test('does not block a start', async () => {
    const given = await leaveBehind(process.ppid)
    expect(findPostgres(given.dataDir)).toBeUndefined()
    expect((await start(given)).pid).not.toBe(process.ppid)
  })

  test('does not touch the server of another folder', async () => {
    const other = await start()
    const given = await leaveBehind(other.pid)
    expect(findPostgres(given.dataDir)).toBeUndefined()
    expect((await start(given)).pid).not.toBe(other.pid)
    expect(await query(other.url({ role: 'supabase_admin' }), 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

describe('refusals', () => {
  test('SF501: the port is in use, and the folder can be used afterwards', async () => {
    const blocker = net.createServer().listen(0, '127.0.0.1')
    await once(blocker, 'listening')
    const { port } = blocker.address() as AddressInfo
    const given = options({ port })
    expect(await refusal(startPostgres(given))).toMatchObject({
      code: 'SF501',
      message: `Port ${port} is in use.`,
      fields: { port },
    })
    blocker.close()
    await once(blocker, 'close')
    expect((await start(given)).port).toBe(port)
  })

  test('SF502: the folder is of another version, and stays as it is', async () => {
    const given = options()
    fs.mkdirSync(given.dataDir, { recursive: true })
    fs.writeFileSync(path.join(given.dataDir, 'PG_VERSION'), '13\n')
    expect(await refusal(startPostgres(given))).toMatchObject({
      code: 'SF502',
      fields: { found: '13', wanted: MAJOR },
      hint: expect.stringContaining('another folder'),
    })
    expect(fs.readdirSync(given.dataDir)).toEqual(['PG_VERSION'])
  })

  test('SF503: a server that ends at start is told with the end of its log, and leaves no process', async () => {
    const given = options({ settings: { shared_preload_libraries: 'no_such_library' } })
    const error = await refusal(startPostgres(given))
    expect(error).toMatchObject({ code: 'SF503', message: expect.stringContaining('exit code 1') })
    expect(error.detail).toContain('could not access file "no_such_library"')
    expect(error.hint).toContain(path.join(given.dataDir, 'server.log'))
    expect(findPostgres(given.dataDir)).toBeUndefined()
    const server = await start({ ...given, settings: {} })
    expect(processIdentity(server.pid)).toBeDefined()
  })

  test('SF503: an initdb that fails leaves nothing behind', async () => {
    const parent = path.join(home, `case-${++folders}`)
    const broken = { folder: '/', program: () => path.join(parent, 'initdb') }
    fs.mkdirSync(parent)
    fs.writeFileSync(path.join(parent, 'initdb'), '#!/bin/sh\necho "no space left" >&2\nexit 3\n', { mode: 0o755 })
    const work = ensureDataFolder(path.join(parent, 'data'), MAJOR, {
      overlay: broken,
      user: serverUser(),
      sync: false,
    })
    expect(await refusal(work)).toMatchObject({ code: 'SF503', detail: 'no space left', fields: { exitCode: 3 } })
    expect(fs.readdirSync(parent)).toEqual(['initdb'])
  })

  test('SF504: there are no binaries for the platform', async () => {
    const given = options()
    vi.spyOn(process, 'platform', 'get').mockReturnValue('sunos')
    onTestFinished(() => void vi.restoreAllMocks())
    const error = await refusal(startPostgres(given))
    expect(error).toMatchObject({ code: 'SF504', detail: expect.stringContaining('linux-x64') })
    expect(error.message).toContain('sunos')
    expect(fs.existsSync(path.dirname(given.dataDir))).toBe(false)
  })

  test('SF505: the binaries are not installed, or of another version', async () => {
    const given = options({ binariesFrom: path.join(home, 'nothing here') })
    expect(await refusal(startPostgres(given))).toMatchObject({
      code: 'SF505',
      hint: expect.stringContaining('npm ci'),
    })
    const other = options({ major: 15, binariesFrom: ROOT })
    expect(await refusal(startPostgres(other))).toMatchObject({ code: 'SF505', detail: expect.stringContaining('17.') })
    expect(fs.existsSync(path.dirname(given.dataDir))).toBe(false)
  })

  test('SF506: the folder holds something else, which stays', async () => {
    const given = options()
    fs.mkdirSync(given.dataDir, { recursive: true })
    fs.writeFileSync(path.join(given.dataDir, 'thesis.txt'), 'mine')
    expect(await refusal(startPostgres(given))).toMatchObject({ code: 'SF506' })
    expect(fs.readdirSync(given.dataDir)).toEqual(['thesis.txt'])
  })
})

describe('cloneDatabase and dropDatabase', () => {
  test('a clone has the data and the rights of its template, and is independent', async () => {
    const server = await start()
    await preparePlatform(server)
    await query(server.url(), "create extension pgmq; select pgmq.create('q')")
    await query(server.url(), "select pgmq.send('q', '1')")
    await cloneDatabase(server, { template: 'postgres', name: 'Copy' })
    const url = server.url({ database: 'Copy' })
    expect(await query(url, "select message from pgmq.read('q', 60, 1)")).toEqual([{ message: 1 }])
    expect(await query(server.url(), "select message from pgmq.read('q', 60, 1)")).toEqual([{ message: 1 }])
    await dropDatabase(server, 'Copy')
    await dropDatabase(server, 'Copy')
    await expect(query(url, 'select 1')).rejects.toMatchObject({ code: '3D000' })
  })

  test('dropDatabase ends connections that are left', async () => {
    const server = await start()
    await preparePlatform(server)
    await cloneDatabase(server, { template: 'postgres', name: 'used' })
    const client = postgres(server.url({ database: 'used' }), { max: 1 })
    await client`select 1`
    await dropDatabase(server, 'used')
    expect(await query(server.url(), "select from pg_database where datname = 'used'")).toHaveLength(0)
    await client.end({ timeout: 0 })
  })

  test('preparePlatform again changes nothing', async () => {
    const server = await start()
    await preparePlatform(server)
    await query(server.url(), "select vault.create_secret('x', 'kept')")
    await preparePlatform(server)
    expect(await query(server.url(), 'select decrypted_secret from vault.decrypted_secrets')).toEqual([
      { decrypted_secret: 'x' },
    ])
  })
})

async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
