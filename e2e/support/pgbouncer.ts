import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { debianProgram } from './debian-package.ts'

/** A transaction pooler in front of the test server. */
export interface Pgbouncer {
  readonly port: number
  stop(): Promise<void>
}

/**
 * Starts pgbouncer (of Debian's packages; installed with apt-get when it is missing and may be) with so few server connections that
 * clients of pool mode `transaction`, the default, have to share them: what one leaves in a session, another finds.
 */
export async function startPgbouncer(
  server: { port: number; user: string; password: string },
  poolMode: 'session' | 'transaction' = 'transaction',
): Promise<Pgbouncer> {
  const binary = debianProgram('pgbouncer', ['pgbouncer', '/usr/sbin/pgbouncer'])
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
      `pool_mode = ${poolMode}`,
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
