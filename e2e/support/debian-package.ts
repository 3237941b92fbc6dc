import { spawnSync } from 'node:child_process'
import { userInfo } from 'node:os'

/**
 * A program of a Debian package: where it is, installed with apt-get when it is missing and may be.
 *
 * @param versionArgs what it is asked to see whether it is there
 * @throws Error with what apt-get said
 */
export function debianProgram(
  packageName: string,
  candidates: readonly string[],
  versionArgs: readonly string[] = ['--version'],
): string {
  const find = () => candidates.find((path) => spawnSync(path, versionArgs).status === 0)
  const present = find()
  if (present !== undefined) return present
  const install = () => aptGet('install', '-y', '--no-install-recommends', packageName)
  let result = install()
  if (result.status !== 0) {
    aptGet('update')
    result = install()
  }
  const installed = find()
  if (installed !== undefined) return installed
  throw new Error(
    `These tests need ${packageName}. Install it (apt-get install ${packageName}).\n${result.error?.message ?? `${result.stdout}\n${result.stderr}`}`,
  )
}

/** As root, and one after the other: tests that run at the same time may each miss a package, and apt-get waits for nobody. */
function aptGet(...args: string[]) {
  const command = ['flock', '/var/lib/apt', 'apt-get', ...args]
  const [first = '', ...rest] = userInfo().uid === 0 ? command : ['sudo', '-n', ...command]
  return spawnSync(first, rest, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
}
