import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, parse, relative, resolve } from 'node:path'

/** Where the code of one edge function is. */
export interface FunctionSource {
  readonly name: string
  /** Absolute path of the module to run. */
  readonly entry: string
  /** The function's own deno.json, else the nearest one of a folder above, up to the project. */
  readonly config: string | undefined
}

/** Names that can be a folder, a URL segment and a deployed function alike; `_shared` and the like are no functions. */
const FUNCTION_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/

/** Whether a folder of this name can be a function's. */
export function isFunctionName(name: string): boolean {
  return FUNCTION_NAME.test(name)
}

/** Finds the function `name` below `functionsDir`; undefined where there is none. */
export function findFunction(functionsDir: string, projectDir: string, name: string): FunctionSource | undefined {
  if (!isFunctionName(name)) return undefined
  const folder = join(functionsDir, name)
  const entry = ['index.ts', 'index.js'].map((file) => join(folder, file)).find(isFile)
  if (entry === undefined) return undefined
  return { name, entry, config: nearestConfig(folder, projectDir) }
}

/**
 * The project that `functionsDir` belongs to: the nearest folder at or above it with `node_modules`, else with a
 * package.json, else the folder above it. See {@link readableFolders}.
 */
export function findProjectDir(functionsDir: string): string {
  for (const mark of ['node_modules', 'package.json']) {
    const found = foldersUpward(functionsDir).find((folder) => existsSync(join(folder, mark)))
    if (found !== undefined) return found
  }
  return dirname(functionsDir)
}

/**
 * The folders that a function may read, and nothing else: its project, and the projects that its deno.json maps imports to by their paths, as it is with
 * packages that are linked from a clone.
 */
export function readableFolders({ config }: FunctionSource, projectDir: string): readonly string[] {
  const targets = config === undefined ? [] : mappedFiles(config)
  const outside = targets.filter((target) => relative(projectDir, target).startsWith('..'))
  return [...new Set([projectDir, ...outside.map((target) => findProjectDir(dirname(target)))])]
}

/**
 * What a function may not read although it lies in those folders: the state of local platforms, which holds their keys and passwords, and
 * files of environment variables. What a function is to know of them is in its environment.
 */
export function secretPaths(folders: readonly string[], stateDir: string | undefined): readonly string[] {
  const inside = folders.flatMap((folder) => [
    join(folder, '.starflow'),
    ...readdirSync(folder)
      .filter((name) => /^\.env(?:\.|$)/.test(name))
      .map((name) => join(folder, name)),
  ])
  return [...(stateDir === undefined ? [] : [stateDir]), ...inside]
}

/** What a deno.json that cannot be read maps is Deno's to complain about. */
function mappedFiles(config: string): readonly string[] {
  try {
    const { imports = {} } = JSON.parse(readFileSync(config, 'utf8')) as { imports?: Readonly<Record<string, unknown>> }
    return Object.values(imports).flatMap((target) =>
      typeof target === 'string' && target.startsWith('.') ? [resolve(dirname(config), target)] : [],
    )
  } catch {
    return []
  }
}

function nearestConfig(folder: string, projectDir: string): string | undefined {
  const folders = foldersUpward(folder)
  const last = folders.indexOf(projectDir)
  return folders
    .slice(0, last === -1 ? 1 : last + 1)
    .flatMap((each) => [join(each, 'deno.json'), join(each, 'deno.jsonc')])
    .find(isFile)
}

function foldersUpward(folder: string): string[] {
  const folders: string[] = []
  for (let each = folder; each !== parse(each).root; each = dirname(each)) folders.push(each)
  return folders
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
