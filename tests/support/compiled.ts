import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin, stop } from 'esbuild'
import { ROOT } from '../../scripts/repository.ts'

const CACHE = join(ROOT, 'node_modules/.cache/starflow-compiled')
const HOOKS = new URL('./compiled-hooks.mjs', import.meta.url).href
const MAIN = join(ROOT, 'packages/cli/src/main.ts')
/** Bundles of a state of the sources that has passed are kept so long: a run that uses them may still go on. */
const KEPT_MS = 24 * 60 * 60 * 1000

/**
 * What Node is started with so that it runs a TypeScript program of this repository, in a fraction of the time that a transpiler's
 * boot takes: `spawn(process.execPath, [...COMPILED, program])`. The packages are bundled once for each state of their sources.
 */
export const COMPILED: readonly string[] = ['--import', await registration()]

/** The command line in the same way; its arguments follow. A test of how `starflow` itself starts takes bin/starflow.mjs. */
export const STARFLOW: readonly string[] = [...COMPILED, MAIN]

async function registration(): Promise<string> {
  const folder = join(CACHE, stateOfSources())
  if (!existsSync(folder)) await compileInto(folder)
  return pathToFileURL(join(folder, 'register.mjs')).href
}

async function compileInto(folder: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true })
  removePassedStates()
  const draft = mkdtempSync(join(CACHE, 'draft-'))
  const entries = new Map([['starflow', MAIN], ...packageEntries()])
  const names = [...entries.keys()]
  await build({
    entryPoints: Object.fromEntries(names.map((name, at) => [`entry-${at}`, entries.get(name)!])),
    outdir: draft,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    plugins: [sourcesStayWhereTheyAre(entries)],
  })
  await stop()
  const bundles = names.flatMap((name, at) => {
    const url = pathToFileURL(join(folder, `entry-${at}.mjs`)).href
    return [
      [name, url],
      [pathToFileURL(entries.get(name)!).href, url],
    ]
  })
  const data = { folder, bundles }
  writeFileSync(
    join(draft, 'register.mjs'),
    `import { register } from 'node:module'\nregister(${JSON.stringify(HOOKS)}, { data: ${JSON.stringify(data)} })\n`,
  )
  try {
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true })
    // Another process of this run was quicker.
    if (!existsSync(folder)) throw error
  }
}

/** Bundles the packages of the repository only, and lets each module believe that it stands where its source does. */
function sourcesStayWhereTheyAre(entries: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'sources stay where they are',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[^./]/ }, ({ path }) => {
        const entry = entries.get(path)
        return entry === undefined ? { external: true } : { path: entry }
      })
      onLoad({ filter: /\/packages\/.*\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8')
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path))),
        loader: 'ts',
      }))
    },
  }
}

/** What can be imported of the packages, by how it is imported, and its source. */
function packageEntries(): [string, string][] {
  return readdirSync(join(ROOT, 'packages')).flatMap((folder) => {
    const manifest = join(ROOT, 'packages', folder, 'package.json')
    const { name, exports = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      name: string
      exports?: Record<string, string>
    }
    return Object.entries(exports).map(([path, source]): [string, string] => [
      join(name, path),
      fileURLToPath(new URL(source, pathToFileURL(manifest))),
    ])
  })
}

/** Changes whenever a source does. */
function stateOfSources(): string {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)))
  for (const name of readdirSync(join(ROOT, 'packages')).sort()) {
    const source = join(ROOT, 'packages', name, 'src')
    if (!existsSync(source)) continue
    for (const path of readdirSync(source, { recursive: true, encoding: 'utf8' }).sort()) {
      if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue
      const { mtimeMs, size } = statSync(join(source, path))
      hash.update(`${name}/${path} ${mtimeMs} ${size}\n`)
    }
  }
  return hash.digest('hex').slice(0, 16)
}

function removePassedStates(): void {
  for (const name of readdirSync(CACHE)) {
    const folder = join(CACHE, name)
    if (Date.now() - statSync(folder).mtimeMs > KEPT_MS) rmSync(folder, { recursive: true, force: true })
  }
}
