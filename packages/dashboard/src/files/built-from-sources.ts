import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { sourceHash } from './source-hash.ts'

/** What the files are made of, from the package: the lock file stands for the dependencies. */
const SOURCES = [
  ...['index.html', 'vite.config.ts', 'package.json', 'tsconfig.json', 'src'],
  ...['../errors/src', '../client/src', '../../package-lock.json'],
]
/** Another process may still serve what was built from earlier sources. */
const KEPT_MS = 24 * 60 * 60_000

/**
 * Builds the page of a package unless that was done for the same sources, and gives the folder. Several processes may do so at
 * once: each builds in a folder of its own, and the first one to end wins.
 *
 * @throws Error with what Vite says
 */
export async function builtFromSources(packageFolder: string): Promise<string> {
  const vite = dirname(createRequire(import.meta.url).resolve('vite/package.json'))
  const cache = join(vite, '..', '.cache', 'starflow-dashboard')
  const folder = join(cache, sourceHash(packageFolder, SOURCES))
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  const workshop = mkdtempSync(join(cache, '.building-'))
  try {
    await runVite(join(vite, 'bin', 'vite.js'), packageFolder, workshop)
    if (!existsSync(folder)) renameSync(workshop, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
  removeOld(cache, folder)
  return folder
}

/** In a process of its own: a bundler has no business in the memory of a server. */
async function runVite(program: string, packageFolder: string, outDir: string): Promise<void> {
  const args = [program, 'build', '--outDir', outDir, '--emptyOutDir', '--logLevel', 'warn']
  const child = spawn(process.execPath, args, {
    cwd: packageFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Whatever the server itself is: else React comes with all that helps to develop it, and the page is half as large again.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const said: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`The dashboard could not be built.\n${Buffer.concat(said).toString('utf8')}`)
}

function removeOld(cache: string, current: string): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name)
    const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (folder !== current && age > KEPT_MS) rmSync(folder, { recursive: true, force: true })
  }
}
