import { StarflowError } from '@starflow/errors'
import type { LogLevel } from './events.ts'

/** What the worker reads of its environment, in the one place that reads it. Empty counts as unset. */
export interface WorkerEnvironment {
  readonly databaseUrl: string | undefined
  /** Any of these authorises a request. */
  readonly secrets: readonly string[]
  /** The variable that they were read from. */
  readonly secretsFrom: string
  readonly supabaseUrl: string | undefined
  readonly serviceRoleKey: string | undefined
  /** Identifies the isolate in the host's own logs; anything but a UUID counts as unset. */
  readonly executionId: string | undefined
  readonly logFormat: 'json' | 'plain'
  readonly logLevel: LogLevel
}

/** Name, first match wins; the docs' table of variables is made of this. */
export const ENVIRONMENT_VARIABLES = {
  databaseUrl: ['STARFLOW_DB_URL', 'SUPABASE_DB_URL', 'DATABASE_URL'],
  dedicatedSecret: ['STARFLOW_AUTH_SECRET', 'PGFLOW_AUTH_SECRET'],
  serviceRoleKey: ['SUPABASE_SERVICE_ROLE_KEY'],
  secretKeys: ['SUPABASE_SECRET_KEYS'],
  supabaseUrl: ['SUPABASE_URL'],
  executionId: ['SB_EXECUTION_ID'],
  logFormat: ['STARFLOW_LOG_FORMAT'],
  logLevel: ['STARFLOW_LOG_LEVEL'],
} as const

type Env = Readonly<Record<string, string>>

export function readEnvironment(env: Env): WorkerEnvironment {
  const serviceRoleKey = first(env, 'serviceRoleKey')
  const dedicatedSecret = first(env, 'dedicatedSecret')
  const { DENO_DEPLOYMENT_ID, SB_REGION } = env
  const isHosted = Boolean(DENO_DEPLOYMENT_ID || SB_REGION)
  const logFormat = first(env, 'logFormat')
  const logLevel = first(env, 'logLevel')
  return {
    databaseUrl: first(env, 'databaseUrl'),
    secrets: dedicatedSecret !== undefined ? [dedicatedSecret] : [...present(serviceRoleKey), ...secretKeys(env)],
    secretsFrom: ENVIRONMENT_VARIABLES.dedicatedSecret.find((name) => isSet(env[name])) ?? 'SUPABASE_SERVICE_ROLE_KEY',
    supabaseUrl: first(env, 'supabaseUrl'),
    serviceRoleKey: serviceRoleKey ?? secretKeys(env)[0],
    executionId: [first(env, 'executionId')].find(isUuid),
    logFormat: logFormat === 'json' || logFormat === 'plain' ? logFormat : isHosted ? 'json' : 'plain',
    logLevel: isLogLevel(logLevel) ? logLevel : 'info',
  }
}

/**
 * Refuses an environment that lacks what a worker cannot do without, all of it at once.
 *
 * @throws StarflowError SF002
 */
export function requireEnvironment(
  environment: WorkerEnvironment,
  needs: { readonly databaseUrl: boolean; readonly secret: boolean },
): void {
  const missing: string[] = []
  if (needs.databaseUrl && environment.databaseUrl === undefined) missing.push('SUPABASE_DB_URL')
  if (needs.secret && environment.secrets.length === 0) missing.push('STARFLOW_AUTH_SECRET')
  if (missing.length === 0) return
  throw new StarflowError({
    code: 'SF002',
    message: `Missing environment variable${missing.length === 1 ? '' : 's'}: ${missing.join(', ')}.`,
    detail:
      `The database URL is read from ${ENVIRONMENT_VARIABLES.databaseUrl.join(', ')}; the secret of requests from ` +
      `${ENVIRONMENT_VARIABLES.dedicatedSecret.join(', ')}, SUPABASE_SERVICE_ROLE_KEY. An empty value counts as missing.`,
    hint: 'Set them as secrets of this function.',
    fields: { missing },
  })
}

function first(env: Env, key: keyof typeof ENVIRONMENT_VARIABLES): string | undefined {
  for (const name of ENVIRONMENT_VARIABLES[key]) {
    const value = env[name]
    if (isSet(value)) return value
  }
  return undefined
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== ''
}

function isUuid(text: string | undefined): boolean {
  return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/** `SUPABASE_SECRET_KEYS` is a JSON object of names to keys; anything else means no key. */
function secretKeys(env: Env): string[] {
  const text = first(env, 'secretKeys')
  if (text === undefined) return []
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return []
    return Object.values(parsed).filter((key): key is string => typeof key === 'string' && key.trim() !== '')
  } catch {
    return []
  }
}

function present(value: string | undefined): string[] {
  return value === undefined ? [] : [value]
}

function isLogLevel(value: string | undefined): value is LogLevel {
  return value === 'debug' || value === 'info' || value === 'warn' || value === 'error'
}
