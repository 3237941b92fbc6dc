import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StarflowError } from '@starflow/errors'

/** What starflow.config.json or starflow.config.ts (its default export) may say. */
export interface StarflowConfig {
  /** Folder of the edge functions, from the project's root. Default `supabase/functions`. */
  readonly functionsDir?: string
  /** Folder of local state, from the project's root. Default `.starflow`. */
  readonly stateDir?: string
}

/** A project with every path absolute. */
export interface Project {
  readonly root: string
  readonly functionsDir: string
  /** Holds config.toml and migrations, as the Supabase CLI has it. */
  readonly supabaseDir: string
  /** Local state: data folders, ports. Never committed. */
  readonly stateDir: string
}

const CONFIG_FILES = ['starflow.config.ts', 'starflow.config.js', 'starflow.config.json']
const DEFAULTS = { functionsDir: 'supabase/functions', stateDir: '.starflow' } as const

/**
 * Finds the project of a folder: the nearest folder at or above it with a starflow.config file or a `supabase` folder, else
 * with a package.json. Throws SF618 for a config that cannot be read or says something unknown.
 */
export async function loadProject(from: string): Promise<Project> {
  const folders = foldersUpward(resolve(from))
  const root =
    folders.find((folder) => configFile(folder) !== undefined || isFolder(join(folder, 'supabase'))) ??
    folders.find((folder) => existsSync(join(folder, 'package.json'))) ??
    resolve(from)
  const file = configFile(root)
  const config = file === undefined ? {} : parseConfig(await readConfig(file), basename(file))
  return {
    root,
    functionsDir: resolve(root, config.functionsDir ?? DEFAULTS.functionsDir),
    supabaseDir: join(root, 'supabase'),
    stateDir: resolve(root, config.stateDir ?? DEFAULTS.stateDir),
  }
}

async function readConfig(file: string): Promise<unknown> {
  try {
    if (file.endsWith('.json')) return JSON.parse(readFileSync(file, 'utf8'))
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown }
    return module.default
  } catch (cause) {
    throw new StarflowError({
      code: 'SF618',
      message: `${basename(file)} cannot be read.`,
      detail: cause instanceof Error ? cause.message : String(cause),
      hint: `It holds one object, for example { "functionsDir": "${DEFAULTS.functionsDir}" }.`,
      cause,
    })
  }
}

function parseConfig(value: unknown, file: string): StarflowConfig {
  const known = Object.keys(DEFAULTS)
  const entries =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : undefined
  const problems =
    entries === undefined
      ? ['It does not hold one object.']
      : entries.flatMap(([key, entry]) => {
          if (key === '$schema') return []
          if (!known.includes(key)) return [`"${key}" is not a setting.`]
          return typeof entry === 'string' && entry !== '' ? [] : [`"${key}" must be the path of a folder.`]
        })
  if (problems.length > 0) {
    throw new StarflowError({
      code: 'SF618',
      message: `${file} is not valid.`,
      detail: problems.join(' '),
      hint: `Known settings: ${known.join(', ')}.`,
    })
  }
  return value as StarflowConfig
}

function configFile(folder: string): string | undefined {
  return CONFIG_FILES.map((name) => join(folder, name)).find((path) => existsSync(path))
}

/** A folder and all above it, the nearest first. */
export function foldersUpward(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersUpward(above)]
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
