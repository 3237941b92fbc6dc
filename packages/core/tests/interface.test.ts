import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

// What databases, triggers, cron jobs and clients of the released line rely on, and what our own packages call. Whatever is
// listed here is API: it may grow at its end, and nothing of it may go.
const { sql } = await testDatabase()

/** Column → type, then `?` where it may be null, then its default. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  flows: {
    flow_slug: 'text',
    opt_max_attempts: 'integer = 3',
    opt_base_delay: 'integer = 1',
    opt_timeout: 'integer = 60',
    created_at: 'timestamp with time zone = now()',
    queue_mode: "text = 'flow'",
    opt_max_delay: 'integer?',
  },
  steps: {
    flow_slug: 'text',
    step_slug: 'text',
    step_type: "text = 'single'",
    step_index: 'integer = 0',
    deps_count: 'integer = 0',
    opt_max_attempts: 'integer?',
    opt_base_delay: 'integer?',
    opt_timeout: 'integer?',
    created_at: 'timestamp with time zone = now()',
    opt_start_delay: 'integer?',
    required_input_pattern: 'jsonb?',
    forbidden_input_pattern: 'jsonb?',
    when_unmet: "text = 'skip'",
    when_exhausted: "text = 'fail'",
    queue_name: 'text',
    opt_max_delay: 'integer?',
  },
  deps: {
    flow_slug: 'text',
    dep_slug: 'text',
    step_slug: 'text',
    created_at: 'timestamp with time zone = now()',
  },
  runs: {
    // Not gen_random_uuid(): ids that grow with time keep inserts at the right edge of the indexes.
    run_id: 'uuid = pgflow.new_run_id()',
    flow_slug: 'text',
    status: "text = 'started'",
    input: 'jsonb',
    output: 'jsonb?',
    remaining_steps: 'integer = 0',
    started_at: 'timestamp with time zone = now()',
    completed_at: 'timestamp with time zone?',
    failed_at: 'timestamp with time zone?',
    cancelled_at: 'timestamp with time zone?',
    owner: 'uuid?',
  },
  step_states: {
    flow_slug: 'text',
    run_id: 'uuid',
    step_slug: 'text',
    status: "text = 'created'",
    remaining_tasks: 'integer?',
    remaining_deps: 'integer = 0',
    created_at: 'timestamp with time zone = now()',
    started_at: 'timestamp with time zone?',
    completed_at: 'timestamp with time zone?',
    failed_at: 'timestamp with time zone?',
    error_message: 'text?',
    initial_tasks: 'integer?',
    output: 'jsonb?',
    skip_reason: 'text?',
    skipped_at: 'timestamp with time zone?',
  },
  step_tasks: {
    flow_slug: 'text',
    run_id: 'uuid',
    step_slug: 'text',
    message_id: 'bigint?',
    task_index: 'integer = 0',
    status: "text = 'queued'",
    attempts_count: 'integer = 0',
    error_message: 'text?',
    output: 'jsonb?',
    queued_at: 'timestamp with time zone = now()',
    completed_at: 'timestamp with time zone?',
    failed_at: 'timestamp with time zone?',
    started_at: 'timestamp with time zone?',
    last_worker_id: 'uuid?',
    requeued_count: 'integer = 0',
    last_requeued_at: 'timestamp with time zone?',
    permanently_stalled_at: 'timestamp with time zone?',
    queue_name: 'text',
    attempts_forgiven: 'integer = 0',
  },
  workers: {
    worker_id: 'uuid',
    queue_name: 'text',
    function_name: 'text',
    started_at: 'timestamp with time zone = now()',
    deprecated_at: 'timestamp with time zone?',
    last_heartbeat_at: 'timestamp with time zone = now()',
    stopped_at: 'timestamp with time zone?',
    execution_id: 'uuid?',
    tasks_count: 'integer?',
    cpu_ms: 'bigint?',
  },
  worker_functions: {
    function_name: 'text',
    enabled: 'boolean = true',
    debounce: "interval = '00:00:06'",
    last_invoked_at: 'timestamp with time zone?',
    created_at: 'timestamp with time zone = now()',
    updated_at: 'timestamp with time zone = now()',
    start_mode: "text = 'http'",
  },
  settings: { key: 'text', value: 'text' },
}

const withoutCasts = (text: string) => text.replaceAll(/::[a-z ]+(\[\])?/g, '')

describe('table', () => {
  test.each(Object.entries(TABLES))('%s has its columns with types and defaults', async (table, columns) => {
    const rows = await sql<{ name: string; type: string; is_null: boolean; default_value: string | null }[]>`
      select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as is_null,
             pg_get_expr(d.adbin, d.adrelid) as default_value
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = ${`pgflow.${table}`}::regclass and a.attnum > 0 and not a.attisdropped`
    const found = Object.fromEntries(
      rows.map((row) => {
        const value = row.default_value === null ? '' : ` = ${withoutCasts(row.default_value)}`
        return [row.name, `${row.type}${row.is_null ? '?' : ''}${value}`]
      }),
    )
    expect(found).toMatchObject(columns)
    const added = rows.filter((row) => !(row.name in columns))
    expect(
      added.filter((row) => !row.is_null && row.default_value === null).map((row) => row.name),
      'columns that inserts of released callers do not know',
    ).toEqual([])
  })
})

/** Primary, unique and foreign keys: what each is over. */
const KEYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  flows: { flows_pkey: 'PRIMARY KEY (flow_slug)' },
  steps: {
    steps_pkey: 'PRIMARY KEY (flow_slug, step_slug)',
    steps_flow_slug_step_index_key: 'UNIQUE (flow_slug, step_index)',
    steps_flow_slug_fkey: 'FOREIGN KEY (flow_slug) REFERENCES pgflow.flows(flow_slug)',
  },
  deps: {
    deps_pkey: 'PRIMARY KEY (flow_slug, dep_slug, step_slug)',
    deps_flow_slug_dep_slug_fkey: 'FOREIGN KEY (flow_slug, dep_slug) REFERENCES pgflow.steps(flow_slug, step_slug)',
    deps_flow_slug_fkey: 'FOREIGN KEY (flow_slug) REFERENCES pgflow.flows(flow_slug)',
    deps_flow_slug_step_slug_fkey: 'FOREIGN KEY (flow_slug, step_slug) REFERENCES pgflow.steps(flow_slug, step_slug)',
  },
  // The released foreign keys of hot tables to flows and steps are gone on purpose: each insert would share-lock one row
  // of flows. No caller matches on their names, and deleting a flow deletes its runs.
  runs: { runs_pkey: 'PRIMARY KEY (run_id)' },
  step_states: {
    step_states_pkey: 'PRIMARY KEY (run_id, step_slug)',
    step_states_run_id_fkey: 'FOREIGN KEY (run_id) REFERENCES pgflow.runs(run_id)',
  },
  step_tasks: {
    step_tasks_pkey: 'PRIMARY KEY (run_id, step_slug, task_index)',
    step_tasks_last_worker_id_fkey:
      'FOREIGN KEY (last_worker_id) REFERENCES pgflow.workers(worker_id) ON DELETE SET NULL',
    step_tasks_run_id_fkey: 'FOREIGN KEY (run_id) REFERENCES pgflow.runs(run_id)',
    step_tasks_run_id_step_slug_fkey:
      'FOREIGN KEY (run_id, step_slug) REFERENCES pgflow.step_states(run_id, step_slug)',
  },
  workers: { workers_pkey: 'PRIMARY KEY (worker_id)' },
  worker_functions: { worker_functions_pkey: 'PRIMARY KEY (function_name)' },
}

test.each(Object.entries(KEYS))('table %s has its keys under their names', async (table, keys) => {
  const rows = await sql<{ name: string; definition: string }[]>`
    select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = ${`pgflow.${table}`}::regclass and contype in ('p', 'u', 'f')`
  expect(Object.fromEntries(rows.map((row) => [row.name, row.definition]))).toMatchObject(keys)
})

/** A change that each named check refuses, on a database with one run of a flow `known` with the steps a and b. */
const CHECKS: readonly (readonly [table: string, name: string, violation: string])[] = [
  ['flows', 'opt_base_delay_is_nonnegative', 'update pgflow.flows set opt_base_delay = -1'],
  ['flows', 'opt_max_attempts_is_nonnegative', 'update pgflow.flows set opt_max_attempts = -1'],
  ['flows', 'opt_timeout_is_positive', 'update pgflow.flows set opt_timeout = 0'],
  ['flows', 'slug_is_valid', `insert into pgflow.flows (flow_slug) values ('not a slug')`],
  ['steps', 'forbidden_input_pattern_is_object', `update pgflow.steps set forbidden_input_pattern = '[]'`],
  ['steps', 'required_input_pattern_is_object', `update pgflow.steps set required_input_pattern = '1'`],
  ['steps', 'opt_base_delay_is_nonnegative', 'update pgflow.steps set opt_base_delay = -1'],
  ['steps', 'opt_max_attempts_is_nonnegative', 'update pgflow.steps set opt_max_attempts = -1'],
  ['steps', 'opt_start_delay_is_nonnegative', 'update pgflow.steps set opt_start_delay = -1'],
  ['steps', 'opt_timeout_is_positive', 'update pgflow.steps set opt_timeout = 0'],
  ['steps', 'steps_deps_count_check', 'update pgflow.steps set deps_count = -1'],
  ['steps', 'steps_step_slug_check', `update pgflow.steps set step_slug = 'run' where step_slug = 'c'`],
  ['steps', 'steps_step_type_check', `update pgflow.steps set step_type = 'loop'`],
  ['steps', 'when_exhausted_is_valid', `update pgflow.steps set when_exhausted = 'retry'`],
  ['steps', 'when_unmet_is_valid', `update pgflow.steps set when_unmet = 'wait'`],
  ['deps', 'deps_check', `insert into pgflow.deps values ('known', 'a', 'a')`],
  ['runs', 'completed_at_is_after_started_at', `update pgflow.runs set completed_at = started_at - interval '1 s'`],
  ['runs', 'completed_at_or_failed_at', 'update pgflow.runs set completed_at = started_at, failed_at = started_at'],
  ['runs', 'failed_at_is_after_started_at', `update pgflow.runs set failed_at = started_at - interval '1 s'`],
  ['runs', 'runs_remaining_steps_check', 'update pgflow.runs set remaining_steps = -1'],
  ['runs', 'status_is_valid', `update pgflow.runs set status = 'paused'`],
  [
    'step_states',
    'completed_at_is_after_started_at',
    `update pgflow.step_states set completed_at = started_at - interval '1 s' where step_slug = 'a'`,
  ],
  [
    'step_states',
    'completed_at_or_failed_at_or_skipped_at',
    `update pgflow.step_states set completed_at = now(), failed_at = now() where step_slug = 'a'`,
  ],
  [
    'step_states',
    'failed_at_is_after_started_at',
    `update pgflow.step_states set failed_at = started_at - interval '1 s' where step_slug = 'a'`,
  ],
  [
    'step_states',
    'initial_tasks_known_when_started',
    `update pgflow.step_states set initial_tasks = null where step_slug = 'a'`,
  ],
  [
    'step_states',
    'output_only_for_completed_or_null',
    `update pgflow.step_states set output = '1' where step_slug = 'a'`,
  ],
  [
    'step_states',
    'remaining_tasks_state_consistency',
    `update pgflow.step_states set remaining_tasks = 1 where step_slug = 'b'`,
  ],
  [
    'step_states',
    'skip_reason_matches_status',
    `update pgflow.step_states set skip_reason = 'x' where step_slug = 'a'`,
  ],
  [
    'step_states',
    'skipped_at_is_after_created_at',
    `update pgflow.step_states set skipped_at = created_at - interval '1 s'`,
  ],
  [
    'step_states',
    'started_at_is_after_created_at',
    `update pgflow.step_states set started_at = created_at - interval '1 s'`,
  ],
  [
    'step_states',
    'status_and_remaining_tasks_match',
    `update pgflow.step_states set status = 'completed' where step_slug = 'a'`,
  ],
  ['step_states', 'status_is_valid', `update pgflow.step_states set status = 'queued' where step_slug = 'b'`],
  ['step_states', 'step_states_initial_tasks_check', `update pgflow.step_states set initial_tasks = -1`],
  ['step_states', 'step_states_remaining_deps_check', `update pgflow.step_states set remaining_deps = -1`],
  [
    'step_tasks',
    'attempts_count_nonnegative',
    'update pgflow.step_tasks set attempts_count = -1, attempts_forgiven = -1',
  ],
  [
    'step_tasks',
    'completed_at_is_after_queued_at',
    `update pgflow.step_tasks set completed_at = queued_at - interval '1 s'`,
  ],
  [
    'step_tasks',
    'completed_at_is_after_started_at',
    `update pgflow.step_tasks set started_at = queued_at + interval '2 s', completed_at = queued_at + interval '1 s'`,
  ],
  [
    'step_tasks',
    'completed_at_or_failed_at',
    'update pgflow.step_tasks set completed_at = queued_at, failed_at = queued_at',
  ],
  ['step_tasks', 'failed_at_is_after_queued_at', `update pgflow.step_tasks set failed_at = queued_at - interval '1 s'`],
  [
    'step_tasks',
    'failed_at_is_after_started_at',
    `update pgflow.step_tasks set started_at = queued_at + interval '2 s', failed_at = queued_at + interval '1 s'`,
  ],
  ['step_tasks', 'output_valid_only_for_completed', `update pgflow.step_tasks set output = '1'`],
  [
    'step_tasks',
    'started_at_is_after_queued_at',
    `update pgflow.step_tasks set started_at = queued_at - interval '1 s'`,
  ],
  ['step_tasks', 'valid_status', `update pgflow.step_tasks set status = 'running'`],
  ['worker_functions', 'worker_functions_debounce_check', `update pgflow.worker_functions set debounce = '0.5 s'`],
]

describe('a change is refused by the check that callers know by name:', async () => {
  const flow = await CompiledFlow.compileShape(sql, 'known', shape({ a: {}, b: { after: ['a'] }, c: {} }))
  await flow.start({})
  test.each(CHECKS)('%s, %s', async (table, name, violation) => {
    const [check] = await sql`
      select contype from pg_constraint where conrelid = ${`pgflow.${table}`}::regclass and conname = ${name}`
    expect(check).toEqual({ contype: 'c' })
    const refused = await refusal(sql.unsafe(violation))
    expect(refused.code).toBe('23514')
    // Where a value breaks two checks, Postgres names the first by the alphabet.
    expect(refused.message).toContain(`relation "${table}" violates check constraint "${name}"`)
  })

  test.each([
    ['runs', ['started', 'failed', 'completed', 'cancelled'], 'status_is_valid'],
    ['step_states', ['created', 'started', 'completed', 'failed', 'skipped'], 'status_is_valid'],
    ['step_tasks', ['queued', 'started', 'completed', 'failed', 'skipped', 'cancelled', 'waiting'], 'valid_status'],
  ])('%s takes the statuses %j', async (table, statuses, name) => {
    const [row] = await sql<{ definition: string }[]>`
      select pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = ${`pgflow.${table}`}::regclass and conname = ${name}`
    expect(/\{([a-z,]+)\}/.exec(row!.definition)?.[1]?.split(',').toSorted()).toEqual(statuses.toSorted())
  })
})

test.each([
  [
    'flow slugs, whatever their case',
    `insert into pgflow.flows (flow_slug) values ('twice'), ('Twice')`,
    'flows_lower_flow_slug_key',
  ],
  [
    'step slugs of a flow, whatever their case',
    `insert into pgflow.steps (flow_slug, step_slug, step_index, queue_name) values ('known', 'A', 9, 'known')`,
    'steps_lower_step_slug_key',
  ],
  [
    'message identities',
    `insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, queue_name, message_id)
     select flow_slug, run_id, step_slug, 9, queue_name, message_id from pgflow.step_tasks`,
    'step_tasks_queue_name_message_id_key',
  ],
])('%s are unique', async (_what, statement, name) => {
  expect(await refusal(sql.unsafe(statement))).toMatchObject({ code: '23505', message: expect.stringContaining(name) })
})

/** Parameters that callers may name or count on, in order; what stands behind them here may follow, with a default. */
const FUNCTIONS: Readonly<Record<string, readonly [parameters: string, returns: string, rights?: 'definer']>> = {
  // released
  add_step: [
    `flow_slug text, step_slug text, deps_slugs text[] = '{}', max_attempts integer = NULL, base_delay integer = NULL, timeout integer = NULL, start_delay integer = NULL, step_type text = 'single', required_input_pattern jsonb = NULL, forbidden_input_pattern jsonb = NULL, when_unmet text = 'skip', when_exhausted text = 'fail', max_delay integer = NULL`,
    'pgflow.steps',
  ],
  cleanup_ensure_workers_logs: ['retention_hours integer = 24', 'TABLE(cron_deleted bigint)', 'definer'],
  complete_task: [
    'run_id uuid, step_slug text, task_index integer, output jsonb, worker_id uuid = NULL, attempt integer = NULL',
    'SETOF pgflow.step_tasks',
  ],
  create_flow: [
    'flow_slug text, max_attempts integer = NULL, base_delay integer = NULL, timeout integer = NULL, max_delay integer = NULL',
    'pgflow.flows',
  ],
  delete_flow_and_data: ['p_flow_slug text', 'void'],
  ensure_flow_compiled: ["flow_slug text, shape jsonb, queue_mode text = 'flow', route_map jsonb = NULL", 'jsonb'],
  ensure_workers: ['', 'TABLE(function_name text, invoked boolean, request_id bigint)'],
  fail_task: [
    'run_id uuid, step_slug text, task_index integer, error_message text, worker_id uuid = NULL, attempt integer = NULL, retry_delay integer = NULL, permanent boolean = false',
    'SETOF pgflow.step_tasks',
  ],
  get_run_with_states: ['run_id uuid', 'jsonb', 'definer'],
  mark_worker_stopped: ['worker_id uuid', 'void'],
  requeue_stalled_tasks: ['', 'integer', 'definer'],
  setup_ensure_workers_cron: ["cron_interval text = '1 second'", 'text', 'definer'],
  setup_requeue_stalled_tasks_cron: ["cron_interval text = '15 seconds'", 'text', 'definer'],
  // Definer here, so that a signed-in person's trigger may start a run.
  start_flow: [
    'flow_slug text, input jsonb, run_id uuid = NULL, idempotency_key text = NULL, start_at timestamp with time zone = NULL',
    'SETOF pgflow.runs',
    'definer',
  ],
  start_flow_with_states: ['flow_slug text, input jsonb, run_id uuid = NULL', 'jsonb', 'definer'],
  start_tasks: [
    'flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text = NULL, step_slug text = NULL',
    'SETOF pgflow.step_task_record',
  ],
  track_worker_function: ["function_name text, start_mode text = 'http'", 'void'],
  is_valid_slug: ['slug text', 'boolean'],
  is_local: ['', 'boolean'],
  calculate_retry_delay: ['base_delay numeric, attempts_count integer', 'integer'],
  set_vt_batch: [
    'queue_name text, msg_ids bigint[], vt_offsets integer[]',
    'TABLE(msg_id bigint, read_ct integer, enqueued_at timestamp with time zone, vt timestamp with time zone, message jsonb, headers jsonb)',
  ],
  poll_for_tasks: [
    'queue_name text, vt integer, qty integer, max_poll_seconds integer = 5, poll_interval_ms integer = 100',
    'SETOF pgflow.step_task_record',
  ],
  start_ready_steps: ['run_id uuid', 'void'],
  maybe_complete_run: ['run_id uuid', 'void'],
  cascade_complete_taskless_steps: ['run_id uuid', 'integer'],
  // ours
  claim_tasks: [
    "queue_name text, flow_slug text, worker_id uuid, qty integer, step_slug text = NULL, on_unsupported text = 'skip'",
    'SETOF pgflow.claimed_task',
  ],
  settle_tasks: ['worker_id uuid, reports jsonb', 'SETOF pgflow.settled_report'],
  settle_and_claim: [
    "worker_id uuid, reports jsonb, queue_name text, flow_slug text, qty integer, step_slug text = NULL, on_unsupported text = 'skip', alone boolean = NULL",
    'SETOF pgflow.work_item',
  ],
  release_tasks: ['worker_id uuid, tasks jsonb', 'integer'],
  lost_attempts: [
    'worker_id uuid, tasks jsonb',
    'TABLE(run_id uuid, step_slug text, task_index integer, attempt integer, reason text)',
  ],
  register_worker: [
    "worker_id uuid, queue_name text, function_name text, start_mode text = 'http', execution_id uuid = NULL",
    'text',
  ],
  worker_heartbeat: ['worker_id uuid', 'text'],
  report_usage: ['worker_id uuid, tasks_count integer, cpu_ms bigint = NULL', 'void'],
  report_cpu: ['cpu_ms jsonb', 'integer'],
  start_flows: ['flow_slug text, inputs jsonb, run_ids uuid[] = NULL', 'SETOF pgflow.runs', 'definer'],
  cancel_run: ['run_id uuid, reason text = NULL', 'SETOF pgflow.runs', 'definer'],
  retry_run: ['run_id uuid', 'SETOF pgflow.runs', 'definer'],
  pause_flow: ['flow_slug text', 'void'],
  resume_flow: ['flow_slug text', 'void'],
  schedule_flow: ['job_name text, schedule text, flow_slug text, input jsonb', 'bigint', 'definer'],
  unschedule_flow: ['job_name text', 'boolean', 'definer'],
  set_setting: ['key text, value text', 'void'],
  get_setting: ['key text', 'text'],
  grant_client_access: ['role_name text', 'void'],
  revoke_client_access: ['role_name text', 'void'],
  repair_liveness: ['run_ids uuid[] = NULL, max_tasks integer = 10000', 'integer'],
  restore_queues: ['', 'SETOF text'],
  flow_data_summary: ['flow_slug text', 'jsonb'],
  fence_worker_functions: ['function_names text[], fenced_by text', 'SETOF pgflow.worker_functions'],
  restore_worker_functions: ['function_names text[]', 'SETOF pgflow.worker_functions'],
  hold_fence: [
    'function_names text[], fenced_by text, held_by text, hold_id uuid, hold_for interval',
    'SETOF pgflow.worker_functions',
  ],
  keep_fence_hold: ['hold_id uuid, hold_for interval', 'integer'],
  end_fence_hold: ['hold_id uuid', 'SETOF pgflow.worker_functions'],
  deprecate_workers: ['function_names text[]', 'integer'],
  drained: ['function_names text[]', 'boolean'],
}

interface FunctionRow {
  parameters: string
  returns: string
  is_definer: boolean
  is_strict: boolean
}

describe('function', () => {
  test.each(Object.entries(FUNCTIONS))('%s exists once, with its parameters in order', async (name, expected) => {
    const rows = await sql<FunctionRow[]>`
      select pg_get_function_arguments(oid) as parameters, pg_get_function_result(oid) as returns, prosecdef as is_definer, proisstrict as is_strict
      from pg_proc where pronamespace = 'pgflow'::regnamespace and proname = ${name}`
    // An overload would make calls of released callers ambiguous.
    expect(rows).toHaveLength(1)
    const [parameters, returns, rights] = expected
    const found = withoutCasts(rows[0]!.parameters.replaceAll(' DEFAULT ', ' = '))
    expect(found.slice(0, parameters.length)).toBe(parameters)
    const added = found.slice(parameters.length)
    expect(added === '' || added.startsWith(', ') || parameters === '').toBe(true)
    for (const parameter of added.split(', ').filter((each) => each !== '')) expect(parameter).toContain(' = ')
    expect(rows[0]).toMatchObject({ returns, is_definer: rights === 'definer', is_strict: false })
  })

  test('of every name exists once', async () => {
    expect(
      await sql`select proname from pg_proc where pronamespace = 'pgflow'::regnamespace group by 1 having count(*) > 1`,
    ).toEqual([])
  })

  test('takes no array of jsonb, which PostgREST cannot send', async () => {
    expect(
      await sql`
        select proname from pg_proc where pronamespace = 'pgflow'::regnamespace and proname not like E'\\_%' and 'jsonb[]'::regtype = any (proargtypes)`,
    ).toEqual([])
  })
})

test.each([
  [
    'step_task_record',
    'flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index integer, flow_input jsonb',
  ],
  [
    'claimed_task',
    'flow_slug text, run_id uuid, step_slug text, task_index integer, msg_id bigint, attempt integer, input jsonb, flow_input jsonb',
  ],
  ['settled_report', 'run_id uuid, step_slug text, task_index integer, accepted boolean, reason text'],
  ['liveness_audit', 'kind text, flow_slug text, run_id uuid, step_slug text, task_index integer, reason text'],
])('the rows of %s have exactly their columns, in order', async (type, columns) => {
  const rows = await sql<{ column: string }[]>`
    select a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as column from pg_attribute a
    where a.attrelid = ${`pgflow.${type}`}::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`
  expect(rows.map((row) => row.column).join(', ')).toBe(columns)
})

test.each([
  ['local', 'on'],
  ['functions_base_url', 'http://localhost:9000/functions/v1'],
  ['events', 'all'],
  ['events_channel', 'public'],
  ['max_requeues', '5'],
  ['max_retry_delay', '60'],
  ['test_clock', 'on'],
])('setting %s can be set to %s and unset', async (key, value) => {
  await sql`select pgflow.set_setting(key => ${key}, value => ${value})`
  expect(await sql`select pgflow.get_setting(key => ${key}) as value`).toEqual([{ value }])
  await sql`select pgflow.set_setting(${key}, null)`
})

describe('callers match on the text of', () => {
  test('a map with several dependencies', async () => {
    await sql`select pgflow.create_flow('texts'), pgflow.add_step('texts', 'p'), pgflow.add_step('texts', 'q')`
    await expect(sql`select pgflow.add_step('texts', 'm', array['p', 'q'], step_type => 'map')`).rejects.toThrow(
      'Map step "m" can have at most one dependency, but 2 were provided: p, q',
    )
  })

  test('a root map that is given no array', async () => {
    await sql`select pgflow.create_flow('maps'), pgflow.add_step('maps', 'm', step_type => 'map')`
    expect(await refusal(sql`select pgflow.start_flow('maps', null)`)).toMatchObject({
      code: 'P0001',
      message: 'Flow maps has root map steps but input is NULL',
    })
    for (const [input, type] of [
      ['{}', 'object'],
      ['7', 'number'],
      ['null', 'null'],
      ['"x"', 'string'],
    ] as const) {
      expect(await refusal(sql`select pgflow.start_flow('maps', ${input}::text::jsonb)`)).toMatchObject({
        code: 'P0001',
        message: `Flow maps has root map steps but input is not an array (got ${type})`,
      })
    }
  })

  test.each([
    ['slug_is_valid', `select pgflow.create_flow('run')`],
    ['steps_step_slug_check', `select pgflow.add_step('texts', 'not a slug')`],
    ['steps_step_type_check', `select pgflow.add_step('texts', 't', step_type => 'loop')`],
    ['steps_flow_slug_fkey', `select pgflow.add_step('nowhere', 'a')`],
    ['deps_flow_slug_dep_slug_fkey', `select pgflow.add_step('texts', 'd', array['missing'])`],
    ['deps_check', `select pgflow.add_step('texts', 'd', array['d'])`],
    ['when_unmet_is_valid', `select pgflow.add_step('texts', 'w', when_unmet => 'never')`],
    ['when_exhausted_is_valid', `select pgflow.add_step('texts', 'w', when_exhausted => 'never')`],
    ['opt_start_delay_is_nonnegative', `select pgflow.add_step('texts', 's', start_delay => -1)`],
    ['required_input_pattern_is_object', `select pgflow.add_step('texts', 'r', required_input_pattern => '[]')`],
    ['forbidden_input_pattern_is_object', `select pgflow.add_step('texts', 'r', forbidden_input_pattern => '1')`],
  ])('%s', async (constraint, statement) => {
    expect((await refusal(sql.unsafe(statement))).message).toContain(`constraint "${constraint}"`)
  })
})
