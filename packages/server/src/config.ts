import { chooseSubstrate, DEFAULT_SQLITE_PATH, MIN_WAIT_TOKEN_SECRET_LENGTH, type WaitTokenKey } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import { z } from 'zod'
import { DRAIN_TIMEOUT_MS, MIN_API_TOKEN_LENGTH, RUNNER_CONCURRENCY } from './numbers.ts'
import { ROLE_NAMES, ROLES, type Role } from './roles.ts'
import { NAME_PATTERN } from './workspace.ts'

/** What a server was told by its environment, checked. */
export interface ServerConfig {
  readonly role: Role
  readonly host: string
  readonly port: number
  readonly drainTimeoutMs: number
  /** Requests are taken for this long at least after readiness is gone, so that a proxy in front notices. */
  readonly drainNoticeMs: number
  /** The operator's token. Undefined for a runner, which serves no API. */
  readonly apiToken: string | undefined
  /** The token that reads metrics and nothing else. */
  readonly metricsToken: string | undefined
  /** Whose the runs of webhooks and schedules are. Requests over HTTP bring their own workspace. */
  readonly defaultWorkspace: string
  /** What signs tokens of waits, then what only verifies them any longer. Empty: flows with a wait are refused on runners. */
  readonly waitTokenKeys: readonly WaitTokenKey[]
  readonly storage: Storage
  /** The workspace under which this process reports that it lives. */
  readonly heartbeatWorkspace: string
  /** What this process is called in /health and in logs. */
  readonly serviceId: string
  /** Only runs of this pool, and of none, are claimed; undefined: only those of none. */
  readonly runnerPool: string | undefined
  /** Runs that are executed at once; undefined: as the file says for the pool. */
  readonly concurrency: number | undefined
  /** The file that declares triggers; undefined: starflow.yaml, if it is there. */
  readonly declarationsFile: string | undefined
  /** Proxies in front whose X-Forwarded-For is believed. */
  readonly trustedProxies: number
  /** The folder of the dashboard's files; undefined: those of its package. */
  readonly dashboardDir: string | undefined
  /** Runs are mirrored into the warm tier, and this process helps to bring them there. */
  readonly isMirrored: boolean
  /** Who is told when the lag of the warm tier has another level. */
  readonly mirrorAlertUrl: string | undefined
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

/** Where runs are kept. */
export type Storage =
  | { readonly substrate: 'sqlite'; readonly path: string }
  | {
      readonly substrate: 'supabase'
      readonly url: string
      readonly key: string
      /** Direct SQL: queue placement, and wakes of the claim loop. */
      readonly databaseUrl: string | undefined
    }

/** A variable as the documentation shows it, and the check of its value. */
export interface ServerVariable {
  readonly meaning: string
  /** What holds when it is not set, in words. */
  readonly default: string
  readonly schema: z.ZodType
}

const text = z.string()
const name = text.regex(NAME_PATTERN, 'must be letters, digits, dots, hyphens and underscores, 64 at most')
const waitTokenSecret = text
  .trim()
  .min(MIN_WAIT_TOKEN_SECRET_LENGTH, `must have at least ${MIN_WAIT_TOKEN_SECRET_LENGTH} characters`)
const wholeNumber = (min: number, max: number) =>
  text
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)

/** Every variable of the server. The reference page is made of this. */
export const SERVER_VARIABLES = {
  STARFLOW_ROLE: {
    schema: z.enum(ROLE_NAMES as [Role, ...Role[]]),
    default: '`both`',
    meaning: '`edge` serves HTTP and only enqueues, `runner` claims and executes, `both` does all in one process',
  },
  STARFLOW_HOST: { schema: text, default: '`127.0.0.1`', meaning: 'the address to listen on' },
  STARFLOW_PORT: {
    schema: wholeNumber(0, 65_535),
    default: '`8787`',
    meaning: 'the port to listen on; 0 takes a free one, which the start log names',
  },
  STARFLOW_DRAIN_TIMEOUT_MS: {
    schema: wholeNumber(0, 86_400_000),
    default: `\`${DRAIN_TIMEOUT_MS}\``,
    meaning: 'how long active runs may go on after the first signal',
  },
  STARFLOW_DRAIN_NOTICE_MS: {
    schema: wholeNumber(0, 600_000),
    default: '`0`',
    meaning:
      'how long `edge` and `both` take requests at least after the first signal, so that a proxy in front notices `/readyz`',
  },
  STARFLOW_API_TOKEN: {
    schema: text.min(MIN_API_TOKEN_LENGTH, `must have at least ${MIN_API_TOKEN_LENGTH} characters`),
    default: 'required for `edge` and `both`',
    meaning: "the operator's token",
  },
  STARFLOW_METRICS_TOKEN: {
    schema: text.min(MIN_API_TOKEN_LENGTH, `must have at least ${MIN_API_TOKEN_LENGTH} characters`),
    default: "none: only the operator's token reads `/metrics`, and a `runner` does not serve it",
    meaning: 'a token that reads `/metrics` and nothing else, for every role',
  },
  STARFLOW_DEFAULT_WORKSPACE: {
    schema: name,
    default: '`celestial`',
    meaning: 'whose the runs of webhooks and schedules are; requests over HTTP bring their own',
  },
  STARFLOW_WAIT_TOKEN_SECRET: {
    schema: waitTokenSecret,
    default:
      'none: flows with a wait are refused on runners; `starflow server` on SQLite takes the secret beside the file',
    meaning: 'signs the tokens of durable waits; the same for all processes on one database',
  },
  STARFLOW_WAIT_TOKEN_KID: {
    schema: text.regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be letters, digits, hyphens and underscores, 32 at most'),
    default: '`default`',
    meaning: 'the name of that secret, which stands in each token; another one for another secret',
  },
  STARFLOW_WAIT_TOKEN_OLD_SECRETS: {
    schema: text
      .transform(parseJson)
      .pipe(z.record(z.string(), waitTokenSecret, { error: 'must be a JSON object of secrets by their names' })),
    default: 'none',
    meaning: 'a JSON object of earlier secrets by their names: tokens that they signed are still good',
  },
  STARFLOW_QUEUE_SUBSTRATE: {
    schema: text,
    default: '`auto`: Supabase where `SUPABASE_URL` is set, else SQLite',
    meaning: '`auto`, `supabase` or `sqlite`: where runs are kept and queued. `spacetime` is reserved',
  },
  SUPABASE_URL: { schema: text, default: 'none', meaning: 'the API of the Supabase project; goes with the key' },
  SUPABASE_SERVICE_ROLE_KEY: {
    schema: text,
    default: 'none',
    meaning: 'the key of the server; goes with the URL. `SUPABASE_SECRET_KEY` is read where this is not set',
  },
  SUPABASE_DB_URL: {
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a URL that begins with postgresql://' }),
    default: 'none: no queue placement, and runners ask once a second',
    meaning: 'the database, directly: queue placement, queues and workers, and waking of runners',
  },
  STARFLOW_SQLITE_PATH: {
    schema: text,
    default: `\`${DEFAULT_SQLITE_PATH}\``,
    meaning: 'the file in which runs are kept on SQLite',
  },
  MESH_WORKSPACE: {
    schema: name,
    default: 'the default workspace',
    meaning: 'the workspace under which heartbeats are reported; the same for edge and runner',
  },
  STARFLOW_SERVICE_ID: {
    schema: name,
    default: '`starflow.server.api`, of a runner `starflow.runner.api`',
    meaning: 'what this process is called in `/health` and in logs',
  },
  STARFLOW_RUNNER_POOL: {
    schema: name,
    default: 'none: only runs without a pool are claimed',
    meaning: 'the pool of this runner: it claims runs of its pool and runs without one',
  },
  STARFLOW_RUNNER_CONCURRENCY: {
    schema: wholeNumber(1, 1000),
    default: `what starflow.yaml says for the pool, else \`${RUNNER_CONCURRENCY}\``,
    meaning: 'how many runs are executed at once',
  },
  STARFLOW_CONFIG_FILE: {
    schema: text,
    default: '`starflow.yaml` of the working directory, if it is there',
    meaning: 'the file that declares triggers, webhooks and runner pools',
  },
  STARFLOW_TRUSTED_PROXIES: {
    schema: wholeNumber(0, 10),
    default: '`0`',
    meaning: 'how many proxies stand in front: that many entries of `X-Forwarded-For`, from its end, are believed',
  },
  STARFLOW_DASHBOARD_DIR: {
    schema: text,
    default: 'those of `@starflow/dashboard`',
    meaning: 'the folder with the files of another dashboard',
  },
  STARFLOW_MIRROR: {
    schema: z.enum(['on', 'off']),
    default: '`off`',
    meaning:
      '`on`: runs are mirrored into the warm tier, for `/api/peers` and live status. Needs Supabase and `SUPABASE_DB_URL`',
  },
  STARFLOW_MIRROR_ALERT_URL: {
    schema: z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' }),
    default: 'none',
    meaning: 'where a JSON request is sent when the lag of the warm tier has another level: `ok`, `warn` or `page`',
  },
  STARFLOW_LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error']),
    default: '`info`',
    meaning: 'what is logged at least',
  },
} as const satisfies Readonly<Record<string, ServerVariable>>

type Env = Readonly<Record<string, string | undefined>>
type VariableName = keyof typeof SERVER_VARIABLES
type Values = { readonly [K in VariableName]: z.output<(typeof SERVER_VARIABLES)[K]['schema']> | undefined }

/**
 * Reads the whole configuration from an environment. An empty variable counts as unset.
 *
 * @throws StarflowError SF901 with every problem at once
 */
export function readConfig(env: Env): ServerConfig {
  const problems: string[] = []
  const values = readValues(env, problems)
  const role = values.STARFLOW_ROLE ?? 'both'
  const storage = storageOf(env, values.SUPABASE_DB_URL, problems)
  if (role !== 'both' && storage?.substrate === 'sqlite') {
    problems.push(
      `STARFLOW_ROLE=${role} does not go with SQLite: its file belongs to one process, and an edge and its runners are several. Set SUPABASE_URL and its key, or STARFLOW_ROLE=both.`,
    )
  }
  if (ROLES[role].http === 'full' && values.STARFLOW_API_TOKEN === undefined && !isSet(env.STARFLOW_API_TOKEN)) {
    problems.push(`STARFLOW_API_TOKEN is required: STARFLOW_ROLE=${role} serves the API.`)
  }
  if (values.STARFLOW_METRICS_TOKEN !== undefined && values.STARFLOW_METRICS_TOKEN === env.STARFLOW_API_TOKEN) {
    problems.push('STARFLOW_METRICS_TOKEN is STARFLOW_API_TOKEN: whoever reads metrics with it could do anything.')
  }
  if (values.STARFLOW_MIRROR === 'on' && storage?.substrate === 'sqlite') {
    problems.push('STARFLOW_MIRROR=on does not go with SQLite: a file has one process, which knows what its runs do.')
  } else if (values.STARFLOW_MIRROR === 'on' && values.SUPABASE_DB_URL === undefined) {
    problems.push('STARFLOW_MIRROR=on needs SUPABASE_DB_URL: writes are taken to the warm tier in transactions.')
  }
  if (problems.length > 0 || storage === undefined) throw invalid(problems)
  const defaultWorkspace = values.STARFLOW_DEFAULT_WORKSPACE ?? 'celestial'
  return {
    role,
    storage,
    defaultWorkspace,
    host: values.STARFLOW_HOST ?? '127.0.0.1',
    port: values.STARFLOW_PORT ?? 8787,
    drainTimeoutMs: values.STARFLOW_DRAIN_TIMEOUT_MS ?? DRAIN_TIMEOUT_MS,
    drainNoticeMs: ROLES[role].http === 'full' ? (values.STARFLOW_DRAIN_NOTICE_MS ?? 0) : 0,
    apiToken: ROLES[role].http === 'full' ? values.STARFLOW_API_TOKEN : undefined,
    metricsToken: values.STARFLOW_METRICS_TOKEN,
    waitTokenKeys: waitTokenKeysOf(values),
    heartbeatWorkspace: values.MESH_WORKSPACE ?? defaultWorkspace,
    serviceId: values.STARFLOW_SERVICE_ID ?? (role === 'runner' ? 'starflow.runner.api' : 'starflow.server.api'),
    runnerPool: values.STARFLOW_RUNNER_POOL,
    concurrency: values.STARFLOW_RUNNER_CONCURRENCY,
    declarationsFile: values.STARFLOW_CONFIG_FILE,
    trustedProxies: values.STARFLOW_TRUSTED_PROXIES ?? 0,
    dashboardDir: values.STARFLOW_DASHBOARD_DIR,
    isMirrored: values.STARFLOW_MIRROR === 'on',
    mirrorAlertUrl: values.STARFLOW_MIRROR_ALERT_URL,
    logLevel: values.STARFLOW_LOG_LEVEL ?? 'info',
  }
}

function readValues(env: Env, problems: string[]): Values {
  const entries = Object.entries(SERVER_VARIABLES).map(([variable, { schema }]) => {
    const value = env[variable]
    if (!isSet(value)) return [variable, undefined]
    const result = schema.safeParse(value)
    if (!result.success) problems.push(...result.error.issues.map((issue) => `${variable} ${sentence(issue)}`))
    return [variable, result.data]
  })
  return Object.fromEntries(entries) as Values
}

/** The first one signs. */
function waitTokenKeysOf(values: Values): WaitTokenKey[] {
  const { STARFLOW_WAIT_TOKEN_SECRET: secret, STARFLOW_WAIT_TOKEN_KID: kid = 'default' } = values
  if (secret === undefined) return []
  const old = Object.entries(values.STARFLOW_WAIT_TOKEN_OLD_SECRETS ?? {}).filter(([name]) => name !== kid)
  return [{ kid, secret }, ...old.map(([name, value]) => ({ kid: name, secret: value }))]
}

/** Undefined when the problems say why. */
function storageOf(env: Env, databaseUrl: string | undefined, problems: string[]): Storage | undefined {
  const chosen = chooseSubstrate(env)
  if ('problems' in chosen) {
    problems.push(...chosen.problems)
    return undefined
  }
  const { substrate } = chosen
  if (substrate.kind === 'supabase') {
    return { substrate: 'supabase', url: substrate.url.replace(/\/+$/, ''), key: substrate.key, databaseUrl }
  }
  if (databaseUrl !== undefined && env.STARFLOW_QUEUE_SUBSTRATE !== 'sqlite') {
    problems.push(
      'SUPABASE_DB_URL is set without SUPABASE_URL and its key: runs would be kept on SQLite. Set all three, or STARFLOW_QUEUE_SUBSTRATE=sqlite.',
    )
  }
  return { substrate: 'sqlite', path: substrate.path }
}

/** What is wrong with a value, without the value: it may be a secret. */
function sentence(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}.`
  return `${issue.message}.`
}

function invalid(problems: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF901',
    message: `The configuration of the server has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}.`,
    detail: problems.join('\n'),
    hint: 'Correct the environment of this process and start it again. Every variable is in docs/reference/environment.md.',
    fields: { problems },
  })
}

/** What is no JSON is left to the schema behind it to refuse. */
function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== ''
}
