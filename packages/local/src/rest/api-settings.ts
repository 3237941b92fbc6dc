import { existsSync, readFileSync } from 'node:fs'
import { StarflowError } from '@starflow/errors'
import { parse } from 'smol-toml'

/** The section `[api]` of config.toml, as the Supabase CLI and hosted projects have it. */
export interface ApiSettings {
  /** Schemas that `/rest/v1` serves; the first one where a request names none. */
  readonly schemas: readonly string[]
  /** Where unqualified names are looked for too, after the schema of the request. */
  readonly extraSearchPath: readonly string[]
  /** How many rows one answer has at most. */
  readonly maxRows: number
}

export const DEFAULT_API_SETTINGS: ApiSettings = Object.freeze({
  schemas: ['public', 'graphql_public'],
  extraSearchPath: ['public', 'extensions'],
  maxRows: 1000,
})

/** The settings of a config.toml; the defaults for what it does not say, or where there is none. Throws SF523. */
export function readApiSettings(file: string): ApiSettings {
  if (!existsSync(file)) return DEFAULT_API_SETTINGS
  const api = sectionOf(file)
  const problems: string[] = []
  const setting = <T>(name: string, isValid: (value: unknown) => value is T, meaning: string, otherwise: T): T => {
    const value = api[name]
    if (value === undefined) return otherwise
    if (isValid(value)) return value
    problems.push(`${name} is ${meaning}`)
    return otherwise
  }
  const settings: ApiSettings = {
    schemas: setting('schemas', isNames, 'a list of names, of one at least', DEFAULT_API_SETTINGS.schemas),
    extraSearchPath: setting(
      'extra_search_path',
      isNamesOrNone,
      'a list of names',
      DEFAULT_API_SETTINGS.extraSearchPath,
    ),
    maxRows: setting('max_rows', isCount, 'a number of rows', DEFAULT_API_SETTINGS.maxRows),
  }
  if (problems.length > 0) throw unreadable(file, `In its section [api], ${problems.join(', and ')}.`)
  return settings
}

function sectionOf(file: string): Readonly<Record<string, unknown>> {
  try {
    const { api = {} } = parse(readFileSync(file, 'utf8'))
    if (typeof api === 'object' && !Array.isArray(api)) return api as Readonly<Record<string, unknown>>
  } catch (error) {
    throw unreadable(file, error instanceof Error ? error.message : String(error), error)
  }
  throw unreadable(file, '[api] is a section.')
}

function isNames(value: unknown): value is readonly string[] {
  return isNamesOrNone(value) && value.length > 0
}

function isNamesOrNone(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '')
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

function unreadable(file: string, detail: string, cause?: unknown): StarflowError {
  return new StarflowError({
    code: 'SF523',
    message: `${file} cannot be used.`,
    detail,
    hint: 'Correct it; the Supabase CLI reads the same file.',
    fields: { file },
    cause,
  })
}
