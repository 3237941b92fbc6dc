import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('..', import.meta.url))

/** Installs the peers from this folder's lock file, once. They are no dependency of the repository. */
export function installPeers(): void {
  if (existsSync(`${FOLDER}node_modules/.package-lock.json`)) return
  console.error('Installing the peers of the benchmark…')
  const { status, stdout, stderr } = spawnSync('npm', ['ci'], { cwd: FOLDER, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ci in bench/ failed (exit code ${status}).\n${stdout}\n${stderr}`)
}
