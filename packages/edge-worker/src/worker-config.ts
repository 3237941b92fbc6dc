import type { WorkerConfig as HandlerWorkerConfig } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { Sql } from 'postgres'
import {
  DEFAULT_BATCH_SIZE,
  DEFAULT_MAX_CONCURRENT,
  DEFAULT_MAX_PG_CONNECTIONS,
  DEFAULT_MAX_POLL_INTERVAL_MS,
  DEFAULT_POLL_INTERVAL_MS,
  DEFAULT_VISIBILITY_SECONDS,
  MIN_POLL_INTERVAL_MS,
} from './numbers.ts'
import type { Subscription } from './subscription.ts'

/** What a caller of `EdgeWorker.start` may set for any worker. Everything has a default. */
export interface WorkerConfig {
  /** Tasks that run at the same time. Default 10. */
  readonly maxConcurrent?: number | undefined
  /** Tasks claimed in one call, never more than there are free slots. Default 10. */
  readonly batchSize?: number | undefined
  /** Database connections of this worker in all; it keeps one for itself, `ctx.sql` gets the rest. Default 4. */
  readonly maxPgConnections?: number | undefined
  /** Pause between two reads while there is work, in milliseconds, 10 or more. Default 20. */
  readonly pollIntervalMs?: number | undefined
  /** The pause that an idle worker's doubling ends at, in milliseconds. Default 1000. */
  readonly maxPollIntervalMs?: number | undefined
  /** Database URL; otherwise the environment's. */
  readonly connectionString?: string | undefined
  /** A postgres.js client for `ctx.sql`, which you end. The worker opens a separate connection with the same options. */
  readonly sql?: Sql | undefined
}

/** What a caller may set for the worker of a flow or of a step. */
export interface FlowQueueConfig extends WorkerConfig {
  /** `skip` warns about messages that belong to no task of this worker and goes on; `halt` stops this worker function. Default `skip`. */
  readonly onUnsupportedMessage?: 'skip' | 'halt' | undefined
}

/** The settings with their defaults, deep-frozen: what handlers see as `ctx.workerConfig`. Holds no secret. */
export interface ResolvedWorkerConfig extends HandlerWorkerConfig {
  readonly onUnsupportedMessage: 'skip' | 'halt'
}

/** Where a worker's database is, apart from what handlers may see. */
export interface WorkerConnection {
  readonly connectionString?: string
  readonly sql?: Sql
}

interface NumberRule {
  readonly fallback: number
  readonly min: number
  readonly max: number
  readonly unit: string
}

const NUMBER_RULES = {
  maxConcurrent: { fallback: DEFAULT_MAX_CONCURRENT, min: 1, max: 10_000, unit: 'tasks' },
  batchSize: { fallback: DEFAULT_BATCH_SIZE, min: 1, max: 10_000, unit: 'tasks' },
  maxPgConnections: { fallback: DEFAULT_MAX_PG_CONNECTIONS, min: 1, max: 1000, unit: 'connections' },
  pollIntervalMs: { fallback: DEFAULT_POLL_INTERVAL_MS, min: MIN_POLL_INTERVAL_MS, max: 60_000, unit: 'milliseconds' },
  maxPollIntervalMs: {
    fallback: DEFAULT_MAX_POLL_INTERVAL_MS,
    min: MIN_POLL_INTERVAL_MS,
    max: 60_000,
    unit: 'milliseconds',
  },
  visibilityTimeout: { fallback: DEFAULT_VISIBILITY_SECONDS, min: 1, max: 86_400, unit: 'seconds' },
} as const satisfies Record<string, NumberRule>

type NumberOption = keyof typeof NUMBER_RULES

const COMMON_OPTIONS = ['maxConcurrent', 'batchSize', 'maxPgConnections', 'pollIntervalMs', 'maxPollIntervalMs']
const CONNECTION_OPTIONS = ['connectionString', 'sql']

/**
 * The options that one kind of worker reads beside the common ones; any other kind refuses them, where they would change nothing.
 * `instances` is read when functions are generated: it is here because a generated function spreads the settings of defineWorkers.
 */
const FURTHER_OPTIONS: { readonly [K in Subscription['kind']]: readonly string[] } = {
  flow: ['onUnsupportedMessage'],
  step: ['stepSlug', 'onUnsupportedMessage', 'instances'],
  queue: ['queueName', 'retry', 'timeout', 'visibilityTimeout'],
}

const WORKER_NAMES: { readonly [K in Subscription['kind']]: string } = {
  flow: 'the worker of a flow',
  step: 'the worker of a step',
  queue: 'the worker of a queue without a flow',
}

/**
 * Checks a configuration and fills in the defaults.
 *
 * @param kind what the worker serves: an option that another kind reads is refused
 * @throws StarflowError SF001 naming every problem at once
 */
export function resolveWorkerConfig(
  config: FlowQueueConfig & { readonly visibilityTimeout?: unknown; readonly instances?: unknown } = {},
  kind: Subscription['kind'] = 'flow',
): {
  settings: ResolvedWorkerConfig
  connection: WorkerConnection
} {
  if (typeof config !== 'object' || config === null) throw invalidConfig(['The configuration must be an object.'])
  const given = config as Readonly<Record<string, unknown>>
  const problems: string[] = []

  const known = [...COMMON_OPTIONS, ...FURTHER_OPTIONS[kind], ...CONNECTION_OPTIONS]
  for (const key of Object.keys(given)) {
    if (given[key] !== undefined && !known.includes(key)) {
      problems.push(`"${key}" is not an option of ${WORKER_NAMES[kind]}; the options are ${known.join(', ')}.`)
    }
  }

  const numbers: Partial<Record<NumberOption, number>> = {}
  for (const [key, rule] of Object.entries(NUMBER_RULES) as [NumberOption, NumberRule][]) {
    const value = key in given && given[key] !== undefined ? given[key] : rule.fallback
    if (typeof value === 'number' && Number.isInteger(value) && value >= rule.min && value <= rule.max) {
      numbers[key] = value
    } else {
      problems.push(
        `"${key}" must be a whole number from ${rule.min} to ${rule.max} (${rule.unit}), not ${shown(value)}.`,
      )
    }
  }
  const { maxPollIntervalMs, onUnsupportedMessage: policy } = given
  const onUnsupportedMessage = policy ?? 'skip'
  const { pollIntervalMs = 0 } = numbers
  if (maxPollIntervalMs === undefined && pollIntervalMs > DEFAULT_MAX_POLL_INTERVAL_MS) {
    numbers.maxPollIntervalMs = pollIntervalMs
  } else if (pollIntervalMs > (numbers.maxPollIntervalMs ?? Number.POSITIVE_INFINITY)) {
    problems.push('"maxPollIntervalMs" must not be below "pollIntervalMs".')
  }

  if (onUnsupportedMessage !== 'skip' && onUnsupportedMessage !== 'halt') {
    problems.push(`"onUnsupportedMessage" must be 'skip' or 'halt', not ${shown(onUnsupportedMessage)}.`)
  }
  const { connectionString, sql } = given
  if (connectionString !== undefined && (typeof connectionString !== 'string' || connectionString === '')) {
    // Never shown: it holds a password.
    problems.push('"connectionString" must be a database URL.')
  }
  if (sql !== undefined && typeof sql !== 'function') problems.push('"sql" must be a postgres.js client.')
  if (sql !== undefined && connectionString !== undefined) {
    problems.push('Give "sql" or "connectionString", not both.')
  }

  if (problems.length > 0) throw invalidConfig(problems)
  return {
    settings: Object.freeze({ ...numbers, onUnsupportedMessage }) as ResolvedWorkerConfig,
    connection: Object.freeze({
      ...(connectionString === undefined ? {} : { connectionString: connectionString as string }),
      ...(sql === undefined ? {} : { sql: sql as Sql }),
    }),
  }
}

function invalidConfig(problems: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF001',
    message: `The worker's configuration is not valid: ${problems.join(' ')}`,
    detail: `${problems.length} problem${problems.length === 1 ? '' : 's'}.`,
    hint: 'Leave an option out to use its default.',
    fields: { problems },
  })
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 50))
  return typeof value === 'object' && value !== null ? `a value of type ${typeof value}` : String(value)
}
