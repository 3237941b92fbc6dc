import type { Sql } from '@starflow/core'
import { coverageProblem, type RouteCoverage, readCoverage } from '@starflow/core/operations'
import { fromSqlError } from '@starflow/errors'
import { formatNumberOf } from '../output/text-table.ts'
import { type ConnectionSettings, readConnectionBudget } from './connection-budget.ts'
import { RETIREMENT } from './version-rollout.ts'

/** One finding of the doctor. */
export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'problem'
  readonly message: string
  readonly hint?: string
}

export interface DoctorOptions {
  /** How many connections workers may have. */
  readonly connectionSettings: ConnectionSettings
  /** This computer's clock, in milliseconds. */
  readonly nowMs: () => number
}

/** Oldest pgmq whose functions the SQL core needs. */
const MINIMUM_PGMQ = '1.5.0'
const CLOCK_TOLERANCE_MS = 2_000
const LONG_FENCE_HOURS = 1
/** Jobs of pg_cron, what schedules each, and what is so where it is missing: work stands still, or only something is not seen. */
const JOBS: readonly { readonly name: string; readonly setup: string; readonly status: 'problem' | 'warning' }[] = [
  { name: 'pgflow_ensure_workers', setup: 'pgflow.setup_ensure_workers_cron()', status: 'problem' },
  { name: 'pgflow_requeue_stalled_tasks', setup: 'pgflow.setup_requeue_stalled_tasks_cron()', status: 'problem' },
  // The history of queues, which the dashboard draws.
  { name: 'starflow_sample_queues', setup: 'starflow.setup_queue_samples_cron()', status: 'warning' },
]

/** Looks at everything; a check that fails itself is a problem, and the others go on. */
export async function examine(sql: Sql, options: DoctorOptions): Promise<Finding[]> {
  const migrated = await guarded('migrations', () => checkMigrated(sql))
  const always = [
    migrated,
    await guarded('pgmq', () => checkPgmq(sql)),
    await guarded('clock', () => checkClock(sql, options)),
  ]
  if (migrated.some((finding) => finding.status === 'problem')) return always.flat()
  const rest = [
    await guarded('credentials', () => checkCredentials(sql)),
    await guarded('cron jobs', () => checkJobs(sql)),
    await guarded('connections', () => checkConnections(sql, options)),
    await guarded('worker functions', () => checkFunctions(sql)),
    await guarded('coverage', () => checkCoverage(sql)),
    await guarded('functions', () => checkOverloads(sql)),
    await guarded('unsupported messages', () => checkUnsupported(sql)),
    await guarded('dead letters', () => checkDeadLetters(sql)),
    await guarded('waits', () => checkWaits(sql)),
    await guarded('liveness', () => checkLiveness(sql)),
  ]
  return [...always, ...rest].flat()
}

async function guarded(check: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work()
  } catch (error) {
    const { message } = error as Error
    return [{ check, status: 'problem', message: `This could not be checked: ${message}` }]
  }
}

async function checkMigrated(sql: Sql): Promise<Finding[]> {
  const wanted = [
    'pgflow.ensure_flow_compiled(text, jsonb, text, jsonb, text, interval)',
    'pgflow.settle_and_claim(uuid, jsonb, text, text, integer, text, text, boolean)',
    'pgflow.register_worker(uuid, text, text, text, uuid)',
    'pgflow.hold_fence(text[], text, text, uuid, interval)',
    'pgflow.requeue_stalled_tasks()',
  ]
  const [row] = await sql<[{ missing: string[] }]>`
    select array(select f from unnest(${wanted}::text[]) f where to_regprocedure(f) is null) as missing`
  if (row.missing.length === 0)
    return [{ check: 'migrations', status: 'ok', message: 'The SQL functions of this version are there.' }]
  return [
    {
      check: 'migrations',
      status: 'problem',
      message: `Missing: ${row.missing.join('; ')}.`,
      hint: 'Apply the migrations: supabase db push, of a linked project',
    },
  ]
}

async function checkPgmq(sql: Sql): Promise<Finding[]> {
  const [row] = await sql<[{ version: string | null; hasHeaders: boolean }]>`
    select (select extversion from pg_extension where extname = 'pgmq') as version,
           exists (select from pg_attribute a join pg_type t on t.typrelid = a.attrelid
                   where t.oid = to_regtype('pgmq.message_record') and a.attname = 'headers' and not a.attisdropped) as "hasHeaders"`
  const { version, hasHeaders } = row
  if (version !== null && isAtLeast(version, MINIMUM_PGMQ))
    return [{ check: 'pgmq', status: 'ok', message: `pgmq ${version}.` }]
  // Installed as plain SQL it has no version; headers came with 1.5.0.
  if (version === null && hasHeaders)
    return [{ check: 'pgmq', status: 'ok', message: 'pgmq is there, not as an extension; it has what 1.5.0 brought.' }]
  return [
    {
      check: 'pgmq',
      status: 'problem',
      message: version === null ? 'pgmq is not installed.' : `pgmq ${version} is older than ${MINIMUM_PGMQ}.`,
      hint:
        version === null
          ? 'create extension pgmq'
          : 'alter extension pgmq update, or update the Postgres of the project',
    },
  ]
}

async function checkClock(sql: Sql, { nowMs }: DoctorOptions): Promise<Finding[]> {
  const before = nowMs()
  const [row] = await sql<[{ now: number; testNow: string | null }]>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as now, nullif(current_setting('pgflow.test_now', true), '') as "testNow"`
  const offsetMs = Math.round(row.now - (before + nowMs()) / 2)
  if (Math.abs(offsetMs) <= CLOCK_TOLERANCE_MS)
    return [{ check: 'clock', status: 'ok', message: `The database's clock is ${offsetMs} ms from this computer's.` }]
  return [
    {
      check: 'clock',
      status: 'warning',
      message: `The database's clock is ${(offsetMs / 1000).toFixed(1)} s from this computer's.`,
      hint: "Only the database's clock counts for runs; times that this computer shows will look wrong.",
    },
  ]
}

async function checkCredentials(sql: Sql): Promise<Finding[]> {
  const [row] = await sql<
    [
      {
        is_ready: boolean
        functions_url: string | null
        key_kind: string | null
        key_source: string | null
        missing: string[]
        hint: string | null
      },
    ]
  >`select * from pgflow.ensure_workers_status`
  const [processes] = await sql<[{ http: number }]>`
    select count(*)::integer as http from pgflow.worker_functions where start_mode = 'http'`
  if (row.is_ready) {
    return [
      {
        check: 'credentials',
        status: 'ok',
        message: `Pings go to ${row.functions_url} with ${row.key_kind === null ? 'no key' : `a ${row.key_kind} (${row.key_source})`}.`,
      },
    ]
  }
  return [
    {
      check: 'credentials',
      // Processes are started by whoever runs them.
      status: processes.http > 0 ? 'problem' : 'warning',
      message: `Worker functions cannot be pinged; missing: ${row.missing.join(', ')}.`,
      ...(row.hint === null ? {} : { hint: row.hint }),
    },
  ]
}

async function checkJobs(sql: Sql): Promise<Finding[]> {
  const [extension] = await sql<[{ isThere: boolean }]>`select to_regclass('cron.job') is not null as "isThere"`
  const rows = extension.isThere
    ? await sql<{ name: string; schedule: string; active: boolean; failure: string | null }[]>`
        select j.jobname as name, j.schedule, j.active, (
          select d.return_message from (
            select * from cron.job_run_details d where d.jobid = j.jobid and d.end_time is not null order by d.runid desc limit 1
          ) d where d.status = 'failed') as failure
        from cron.job j where j.jobname = any (${JOBS.map(({ name }) => name)})`
    : []
  return JOBS.map(({ name, setup, status }): Finding => {
    const job = rows.find((row) => row.name === name)
    if (job?.active !== true) {
      return {
        check: 'cron jobs',
        status,
        message: job === undefined ? `The job ${name} is not scheduled.` : `The job ${name} is switched off.`,
        hint: `${extension.isThere ? '' : 'create extension pg_cron; '}select ${setup}`,
      }
    }
    if (job.failure !== null)
      return { check: 'cron jobs', status, message: `The last run of ${name} failed: ${job.failure}` }
    return { check: 'cron jobs', status: 'ok', message: `${name} runs (${job.schedule}).` }
  })
}

/** Twice, because a worker that is replaced finishes beside its successor. */
async function checkConnections(sql: Sql, { connectionSettings }: DoctorOptions): Promise<Finding[]> {
  const budget = await readConnectionBudget(sql, connectionSettings)
  const needed = budget.connections * 2
  const assumed =
    budget.assumed.length === 0
      ? ''
      : ` Not in this project, so ${connectionSettings.otherwise} each are assumed: ${budget.assumed.join(', ')}.`
  const message = `${budget.workers} workers of ${budget.functions} enabled functions: ${budget.connections} connections × 2 = ${needed} of ${budget.max} (max_connections). ${connectionSettings.source}.${assumed}`
  if (needed <= budget.max - budget.reserved) return [{ check: 'connections', status: 'ok', message }]
  return [
    {
      check: 'connections',
      status: 'warning',
      message,
      hint: 'Lower maxPgConnections, group queues into one function, or let workers connect through the transaction pooler (port 6543).',
    },
  ]
}

async function checkFunctions(sql: Sql): Promise<Finding[]> {
  const rows = await sql<
    {
      name: string
      enabled: boolean
      fencedBy: string | null
      fenceHours: number | null
      reason: string | null
      failedStarts: number
      lastError: string | null
      hasComeUpSince: boolean
    }[]
  >`
    select function_name as name, enabled, fenced_by as "fencedBy", extract(epoch from now() - fenced_at)::float8 / 3600 as "fenceHours",
           disabled_reason as reason, failed_starts as "failedStarts", last_error as "lastError",
           pgflow._has_come_up(function_name, last_error_at) as "hasComeUpSince"
    from pgflow.worker_functions order by function_name`
  const findings = rows.flatMap((row): Finding[] => {
    if (row.fencedBy?.startsWith(RETIREMENT) === true) return []
    if (row.fencedBy !== null && (row.fenceHours ?? 0) > LONG_FENCE_HOURS) {
      return [
        {
          check: 'worker functions',
          status: 'warning',
          message: `${row.name} has been fenced by "${row.fencedBy}" for ${Math.round(row.fenceHours ?? 0)} h.`,
          hint: `If that is over: npx starflow restore ${row.name}`,
        },
      ]
    }
    if (!row.enabled && row.fencedBy === null) {
      return [
        {
          check: 'worker functions',
          status: row.reason === null ? 'warning' : 'problem',
          message: `${row.name} is disabled${row.reason === null ? '' : `: ${row.reason}`}.`,
          hint: `Once the reason is gone: npx starflow restore ${row.name} --enable`,
        },
      ]
    }
    if (row.failedStarts > 0 && !row.hasComeUpSince) {
      // Behind a fence it is not tried at all, and what enables it would lift that.
      const retry = row.enabled ? ` To try again at once: npx starflow restore ${row.name} --enable` : ''
      return [
        {
          check: 'worker functions',
          status: 'problem',
          message: `${row.name} failed to start ${row.failedStarts === 1 ? 'once' : `${row.failedStarts} times`}: ${row.lastError}`,
          hint: `${startHint(row.lastError)}${retry}`,
        },
      ]
    }
    if (row.lastError?.startsWith('ping: ') === true) {
      return [
        {
          check: 'worker functions',
          status: 'warning',
          message: `${row.name}: the last ping that failed said: ${row.lastError.slice(6)}`,
        },
      ]
    }
    return []
  })
  if (findings.length > 0) return findings
  return [
    {
      check: 'worker functions',
      status: rows.length === 0 ? 'warning' : 'ok',
      message: rows.length === 0 ? 'No worker function is known yet.' : `${rows.length} are known, none has a problem.`,
    },
  ]
}

/** What the answer to a ping means, where nothing else is known of a start. */
const PING_HINTS: readonly (readonly [RegExp, string])[] = [
  [/^The ping was answered with status 404/, 'It is not deployed under this name: npx starflow deploy.'],
  [/^The ping was answered with status 401/, 'It has another secret than ensure_workers sends (SF417).'],
  [/^The ping was /, 'The log of the function says more.'],
  [/^No worker has registered here/, 'What is deployed there is no worker, or it has another database.'],
]

function startHint(lastError: string | null): string {
  const [, hint] = PING_HINTS.find(([pattern]) => pattern.test(lastError ?? '')) ?? []
  return hint ?? 'Mend what it says.'
}

async function checkCoverage(sql: Sql): Promise<Finding[]> {
  const routes = await readCoverage(sql)
  const uncovered = routes.flatMap((route): Finding[] => {
    const problem = coverageProblem(route)
    if (problem === undefined) return []
    return [
      {
        check: 'coverage',
        status: 'problem',
        message: `${route.flowSlug}.${route.stepSlug}: ${depthWords(route)}, ${problem}.`,
        hint: 'See: npx starflow coverage',
      },
    ]
  })
  return uncovered.length > 0
    ? uncovered
    : [{ check: 'coverage', status: 'ok', message: `Work waits on none of ${routes.length} routes without a worker.` }]
}

function depthWords({ depth, queueName }: RouteCoverage): string {
  return depth === null ? queueName : `${formatNumberOf(depth, 'message')} in ${queueName}`
}

/** None of our functions has two signatures: one that a project has added makes calls of the name ambiguous. */
async function checkOverloads(sql: Sql): Promise<Finding[]> {
  const rows = await sql<{ name: string; signatures: string }[]>`
    select n.nspname || '.' || p.proname as name, string_agg(p.oid::regprocedure::text, ' and ' order by p.oid) as signatures
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('pgflow', 'starflow') group by 1 having count(*) > 1 order by 1`
  if (rows.length === 0) return [{ check: 'functions', status: 'ok', message: 'None has a second signature.' }]
  return rows.map(({ name, signatures }) => ({
    check: 'functions',
    status: 'problem',
    message: `${name} is there twice, so that a call of it may be refused as not unique: ${signatures}.`,
    hint: 'Drop the one that is not from the migration, the later of the two: drop function …',
  }))
}

async function checkUnsupported(sql: Sql): Promise<Finding[]> {
  const rows = await sql<{ queue: string; count: number }[]>`
    select queue_name as queue, count(*)::integer as count from pgflow.unsupported_messages group by queue_name order by queue_name`
  if (rows.length === 0) return [{ check: 'unsupported messages', status: 'ok', message: 'There are none.' }]
  return [
    {
      check: 'unsupported messages',
      status: 'warning',
      message: rows.map((row) => `${row.count} in ${row.queue}`).join(', '),
      hint: 'See: npx starflow queues unsupported',
    },
  ]
}

async function checkDeadLetters(sql: Sql): Promise<Finding[]> {
  const rows = await sql<{ queue: string; count: number }[]>`
    select queue_name as queue, count(*)::integer as count from pgflow.dead_letters group by queue_name order by queue_name`
  if (rows.length === 0) return [{ check: 'dead letters', status: 'ok', message: 'There are none.' }]
  return [
    {
      check: 'dead letters',
      status: 'warning',
      message: rows.map((row) => `${row.count} of ${row.queue}`).join(', '),
      hint: `See: npx starflow queues redrive ${rows[0]!.queue} --dry-run`,
    },
  ]
}

/** Nothing where no flow waits. Without a secret to sign tokens such a flow is refused at its start. */
async function checkWaits(sql: Sql): Promise<Finding[]> {
  const [row] = await sql<[{ flowSlug: string | null; open: number }]>`
    select (select min(flow_slug) from pgflow.steps where step_type = 'wait') as "flowSlug",
           (select count(*)::integer from pgflow.open_waits) as open`
  if (row.flowSlug === null) return []
  try {
    await sql`select from pgflow._wait_signing_key(${row.flowSlug})`
  } catch (error) {
    const { message, detail, hint } = fromSqlError(error) ?? (error as Error & { detail?: string; hint?: string })
    return [{ check: 'waits', status: 'problem', message: `${message} ${detail ?? ''}`.trim(), ...(hint && { hint }) }]
  }
  return [{ check: 'waits', status: 'ok', message: `Tokens can be signed. Open waits: ${row.open}.` }]
}

async function checkLiveness(sql: Sql): Promise<Finding[]> {
  const rows = await sql<{ kind: string; flow: string; runId: string; step: string | null; reason: string }[]>`
    select kind, flow_slug as flow, run_id as "runId", step_slug as step, reason from pgflow.liveness_audit limit 20`
  if (rows.length === 0) return [{ check: 'liveness', status: 'ok', message: 'Every open run has a next actor.' }]
  return rows.map((row) => ({
    check: 'liveness',
    status: 'problem',
    message: `${row.kind} of ${row.flow}${row.step === null ? '' : `.${row.step}`} (${row.runId}): ${row.reason}`,
    hint: 'npx starflow repair puts right what it can',
  }))
}

function isAtLeast(version: string, minimum: string): boolean {
  const [found, wanted] = [version, minimum].map((text) =>
    text.split('.').map((part) => Number.parseInt(part, 10) || 0),
  )
  for (let at = 0; at < 3; at++) {
    const difference = (found![at] ?? 0) - (wanted![at] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}
