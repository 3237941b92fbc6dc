import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative, resolve, sep } from 'node:path'
import type { Project } from '../project/project.ts'

/** Our packages that a worker function and its flows may import. */
const OUR_PACKAGES = ['core', 'dsl', 'edge-worker', 'errors', 'tracing'].map((name) => `@starflow/${name}`)

interface PackageJson {
  readonly version?: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
}

/**
 * The deno.json of a worker function, as text. Its `imports` resolve everything that the function needs wherever it runs:
 * - our packages: to their sources where the project has them as a workspace (so that a deployment uploads them), else to
 *   the npm package of the installed version;
 * - the dependencies of the project's package.json, at their version there;
 * - what the `deno.json` of the functions folder adds, which wins.
 */
export function denoConfigText(project: Project): string {
  const folder = join(project.functionsDir, '_any')
  const imports = { ...projectDependencies(project), ...ourPackages(folder), ...sharedImports(project, folder) }
  const sorted = Object.fromEntries(Object.entries(imports).sort(([left], [right]) => (left < right ? -1 : 1)))
  return `${JSON.stringify({ imports: sorted }, null, 2)}\n`
}

function projectDependencies(project: Project): Record<string, string> {
  const manifest = readJson<PackageJson>(join(project.root, 'package.json'))
  return Object.fromEntries(
    Object.entries(manifest?.dependencies ?? {})
      .filter(([name, range]) => !name.startsWith('@starflow/') && /^[~^]?\d/.test(range))
      .map(([name, range]) => [name, `npm:${name}@${range}`]),
  )
}

function ourPackages(functionFolder: string): Record<string, string> {
  const require = createRequire(import.meta.url)
  return Object.fromEntries(
    OUR_PACKAGES.flatMap((name): [string, string][] => {
      const folder = packageFolder(require, name)
      if (folder === undefined) return []
      const manifest = readJson<PackageJson>(join(folder, 'package.json'))
      if (folder.includes(`${sep}node_modules${sep}`)) return [[name, `npm:${name}@${manifest?.version ?? '*'}`]]
      return Object.entries(manifest?.exports ?? {}).flatMap(([entry, target]): [string, string][] =>
        typeof target === 'string' && !isForNodeOnly(name, entry)
          ? [[join(name, entry).replaceAll(sep, '/'), specifier(functionFolder, join(folder, target))]]
          : [],
      )
    }),
  )
}

/** The migrations are files on disk: a deployed function has none and needs none. */
function isForNodeOnly(name: string, entry: string): boolean {
  return name === '@starflow/core' && entry === './migrations'
}

/** Imports of `<functions>/deno.json`, with relative targets rewritten for a folder below it. */
function sharedImports(project: Project, functionFolder: string): Record<string, string> {
  const shared = readJson<{ imports?: Record<string, string> }>(join(project.functionsDir, 'deno.json'))
  return Object.fromEntries(
    Object.entries(shared?.imports ?? {}).map(([name, target]) => [
      name,
      target.startsWith('.') ? specifier(functionFolder, resolve(project.functionsDir, target)) : target,
    ]),
  )
}

function packageFolder(require: NodeJS.Require, name: string): string | undefined {
  // Not through `exports`: a package need not export its package.json.
  const found = (require.resolve.paths(name) ?? []).map((folder) => join(folder, name)).find((path) => existsSync(path))
  return found === undefined ? undefined : realpathSync(found)
}

function specifier(from: string, to: string): string {
  const path = relative(from, to).replaceAll(sep, '/')
  return path.startsWith('.') ? path : `./${path}`
}

function readJson<T>(path: string): T | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined
}
