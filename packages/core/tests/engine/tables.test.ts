import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { refusal } from '../support/refusal.ts'

const database = await testDatabase()
const { sql } = database

/** What a reader of the tables relies on: column → type, then `?` where it may be null, then its default. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  workflow_runs: {
    id: 'uuid = pgflow.new_run_id()',
    template_id: 'text?',
    workspace_id: "text = 'celestial'",
    env: "text = 'prod'",
    status: "text = 'running'",
    started_at: 'timestamp with time zone?',
    completed_at: 'timestamp with time zone?',
    duration_ms: 'integer?',
    checkpoint_json: 'jsonb?',
    error: 'text?',
    claim_state: "text = 'running'",
    runner_pool: 'text?',
    leased_by: 'text?',
    lease_until: 'timestamp with time zone?',
    last_heartbeat: 'timestamp with time zone?',
    claim_attempts: 'integer = 0',
    definition_id: 'uuid?',
    input: "jsonb = 'null'",
    output: 'jsonb?',
    queued_at: 'timestamp with time zone?',
    available_at: 'timestamp with time zone?',
    cancelled_at: 'timestamp with time zone?',
  },
  workflow_run_events: {
    id: "bigint = nextval('starflow.workflow_run_events_id_seq')",
    run_id: 'uuid',
    event_type: 'text',
    node_id: 'text?',
    payload_json: 'jsonb?',
    created_at: 'timestamp with time zone = now()',
  },
  workflow_session_vars: { session_id: 'text', key: 'text', value_json: 'jsonb' },
  workflow_definitions: { id: 'uuid = pgflow.new_run_id()', flow_slug: 'text', shape_hash: 'text', shape: 'jsonb' },
  mirror_outbox: {
    id: "bigint = nextval('starflow.mirror_outbox_id_seq')",
    run_id: 'uuid?',
    kind: 'text',
    payload: 'jsonb',
    created_at: 'timestamp with time zone = now()',
    applied_at: 'timestamp with time zone?',
  },
  worker_jobs: {
    id: 'uuid = pgflow.new_run_id()',
    run_id: 'uuid',
    node_id: 'text',
    kind: 'text',
    payload: "jsonb = 'null'",
    status: "text = 'queued'",
    leased_by: 'text?',
    lease_until: 'timestamp with time zone?',
    attempt: 'integer = 0',
    idempotency_key: 'text?',
    result: 'jsonb?',
    error: 'text?',
  },
}

test.each(Object.entries(TABLES))('%s has its columns with types and defaults', async (table, columns) => {
  const rows = await sql<{ name: string; type: string; is_null: boolean; default_value: string | null }[]>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as is_null,
           pg_get_expr(d.adbin, d.adrelid) as default_value
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${`starflow.${table}`}::regclass and a.attnum > 0 and not a.attisdropped`
  const found = rows.map(({ name, type, is_null, default_value }) => {
    const value = default_value === null ? '' : ` = ${default_value.replaceAll(/::[a-z]+/g, '')}`
    return [name, `${type}${is_null ? '?' : ''}${value}`]
  })
  expect(Object.fromEntries(found)).toMatchObject(columns)
})

test('the indexes of runs are those that lists, the sweep and the claim are written for', async () => {
  const rows = await sql<{ definition: string }[]>`
    select pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = 'starflow.workflow_runs'::regclass`
  const definitions = rows.map(({ definition }) =>
    definition.replace(/^CREATE INDEX (\w+) ON [\w.]+ USING btree/, '$1'),
  )
  expect(definitions).toEqual(
    expect.arrayContaining([
      'idx_workflow_runs_workspace_started (workspace_id, env, started_at DESC)',
      'idx_workflow_runs_lease_until (lease_until) WHERE (lease_until IS NOT NULL)',
      "idx_workflow_runs_claim_pool (claim_state, runner_pool, queued_at) WHERE (claim_state = 'queued'::text)",
    ]),
  )
})

describe('a run that cannot be is refused by its table', () => {
  test.each([
    ["status 'done'", "status = 'done'"],
    ["claim state 'free'", "claim_state = 'free'"],
    ['running and still queued', "status = 'running', claim_state = 'queued'"],
    ['succeeded and still running', "status = 'success', completed_at = now()"],
    ['a lease without an end', "leased_by = 'r1'"],
    [
      'queued and held',
      "status = 'queued', claim_state = 'queued', queued_at = now(), available_at = now(), leased_by = 'r1', lease_until = now()",
    ],
    ['queued since never', "status = 'queued', claim_state = 'queued'"],
    ['claimed by nobody', "status = 'queued', claim_state = 'claimed'"],
    ['an output before the end', "output = '1'"],
    ['an error that is none', "error = 'no'"],
    ['a checkpoint of a run that is not paused', "status = 'running', claim_state = 'running', checkpoint_json = '{}'"],
    [
      'a checkpoint after the end',
      "status = 'cancelled', claim_state = 'complete', cancelled_at = now(), checkpoint_json = '{}'",
    ],
    ['paused for nothing', "status = 'paused'"],
    ['fewer claims than none', 'claim_attempts = -1'],
  ])('%s', async (_, assignments) => {
    const [run] = await sql`insert into starflow.workflow_runs (template_id) values ('orders') returning id`
    expect(
      await refusal(sql.unsafe(`update starflow.workflow_runs set ${assignments} where id = '${run!.id}'`)),
    ).toMatchObject({
      code: '23514',
    })
  })

  test('an event, outbox row, wait or job of no known kind', async () => {
    const [run] = await sql`insert into starflow.workflow_runs (template_id) values ('orders') returning id`
    const id = run!.id as string
    for (const statement of [
      sql`insert into starflow.workflow_run_events (run_id, event_type) values (${id}, 'node_dance')`,
      sql`insert into starflow.workflow_run_events (run_id, event_type) values (${id}, 'node_start')`,
      sql`insert into starflow.mirror_outbox (run_id, kind, payload) values (${id}, 'song', '{}')`,
      sql`insert into starflow.workflow_waits (run_id, node_id, status) values (${id}, 'a', 'half')`,
      sql`insert into starflow.worker_jobs (run_id, node_id, kind, status) values (${id}, 'a', 'k', 'half')`,
    ]) {
      expect(await refusal(statement)).toMatchObject({ code: '23514' })
    }
  })
})

test('what happened to a run is changed and deleted by nobody, and goes with old runs', async () => {
  const [run] = await sql`
    insert into starflow.workflow_runs (template_id, status, claim_state, completed_at)
    values ('orders', 'success', 'complete', now() - interval '90 days') returning id`
  await sql`insert into starflow.workflow_run_events (run_id, event_type) values (${run!.id}, 'run_completed')`
  for (const role of ['service_role', 'postgres'] as const) {
    const as = database.as(role)
    for (const statement of [
      as`update starflow.workflow_run_events set payload_json = '{"amount": 0}' where run_id = ${run!.id}`,
      as`delete from starflow.workflow_run_events where run_id = ${run!.id}`,
    ]) {
      expect(await refusal(statement)).toMatchObject({
        message: expect.stringContaining('Events of runs are not changed'),
      })
    }
  }
  await sql`select starflow.prune_runs('30 days')`
  expect(await sql`select from starflow.workflow_run_events where run_id = ${run!.id}`).toHaveLength(0)
})
