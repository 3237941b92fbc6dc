import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** A transaction pooler in front of the test server. */
export interface Pgbouncer {
  readonly port: number
  stop(): Promise<void>
}

/**
 * Starts pgbouncer (of Debian's packages; installed with apt-get when it is missing and may be) with pool_mode transaction
 * and so few server connections that clients have to share them: what one leaves in a session, another finds.
 */
export async function startPgbouncer(server: { port: number; user: string; password: string }): Promise<Pgbouncer> {
  const binary = findPgbouncer() ?? installPgbouncer()
  const folder = mkdtempSync(join(tmpdir(), 'starflow-pgbouncer-'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=127.0.0.1 port=${server.port} user=${server.user} password='${server.password}'`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      'default_pool_size = 4',
      'max_client_conn = 1000',
      'ignore_startup_parameters = extra_float_digits',
      'log_connections = 0',
      'log_disconnections = 0',
    ].join('\n'),
    { mode: 0o600 },
  )
  // It refuses to run as root, and reads its settings before it changes its user.
  const asNobody = userInfo().uid === 0 ? ['-u', 'nobody'] : []
  const child = spawn(binary, ['-q', ...asNobody, file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const endWithProcess = () => void child.kill('SIGKILL')
  process.once('exit', endWithProcess)
  const stop = async () => {
    process.off('exit', endWithProcess)
    if (child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      // At once: the tests are over.
      child.kill('SIGKILL')
      await exited
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await listening(child, port)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, stop }
}

function findPgbouncer(): string | undefined {
  return ['pgbouncer', '/usr/sbin/pgbouncer'].find((path) => spawnSync(path, ['--version']).status === 0)
}

function installPgbouncer(): string {
  const sudo = userInfo().uid === 0 ? [] : ['sudo', '-n']
  const run = (...command: string[]) => {
    const [first = '', ...rest] = [...sudo, ...command]
    return spawnSync(first, rest, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  }
  const install = () => run('apt-get', 'install', '-y', '--no-install-recommends', 'pgbouncer')
  let result = install()
  if (result.status !== 0) {
    run('apt-get', 'update')
    result = install()
  }
  const found = findPgbouncer()
  if (found === undefined) {
    throw new Error(
      `These tests need pgbouncer. Install it (apt-get install pgbouncer).\n${result.stdout}\n${result.stderr}`,
    )
  }
  return found
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (said += String(data)))
  for (;;) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with exit code ${child.exitCode}.\n${said}`)
    const isListening = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.unref()
      socket.once('connect', () => socket.destroy())
    })
    if (isListening) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('There is no free port.')
  return address.port
}
