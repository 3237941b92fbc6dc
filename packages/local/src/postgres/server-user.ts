import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { StarflowError } from '@starflow/errors'

/**
 * How the programs of Postgres are started: they refuse to run as root. Containers and CI machines often are root, so
 * there the process gets a user namespace of its own, in which its id is not 0 and its files stay root's. Where the
 * kernel forbids that (Docker's default profile does), it runs as the system user `postgres`, or else `nobody`.
 */
export interface ServerUser {
  spawn(program: string, args: readonly string[], options: SpawnOptions): ChildProcess
  /** Gives the server's user a folder or file that it must own. */
  own(target: string): void
}

const UNSHARE = ['-U', '--map-user=1000', '--map-group=1000']

/** @throws StarflowError SF503 for root without user namespaces and without a `postgres` or `nobody` user */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return { spawn: (program, args, options) => spawn(program, args, options), own() {} }
  if (spawnSync('unshare', [...UNSHARE, 'true']).status === 0) {
    // unshare becomes the program (it does not fork), so the child's process id is the program's.
    return { spawn: (program, args, options) => spawn('unshare', [...UNSHARE, program, ...args], options), own() {} }
  }
  const { uid, gid } = systemUser()
  return {
    spawn: (program, args, options) => spawn(program, args, { ...options, uid, gid }),
    own: (target) => fs.chownSync(target, uid, gid),
  }
}

function systemUser(): { uid: number; gid: number } {
  const users = fs.existsSync('/etc/passwd') ? fs.readFileSync('/etc/passwd', 'utf8').split('\n') : []
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new StarflowError({
    code: 'SF503',
    message: 'Postgres did not start: it refuses to run as root.',
    detail: 'User namespaces are not allowed here, and there is no system user `postgres` or `nobody`.',
    hint: 'Run as another user than root.',
  })
}
