import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { migrations } from '../src/migrations.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const flow = await CompiledFlow.compileShape(sql, 'closed', shape({ a: {} }))
await flow.start({ secret: true })

describe.each(['anon', 'authenticated'] as const)('%s', (role) => {
  const client = database.as(role, { claims: { sub: randomUUID(), role } })

  test('may use neither the schema pgflow nor the schema pgmq', async () => {
    expect(
      await sql`select has_schema_privilege(${role}, 'pgflow', 'usage') as pgflow, has_schema_privilege(${role}, 'pgmq', 'usage') as pgmq`,
    ).toEqual([{ pgflow: false, pgmq: false }])
  })

  test('may execute no function of pgflow, even if it were given the schema', async () => {
    const open = await sql`
      select p.oid::regprocedure::text as name from pg_proc p
      where p.pronamespace = 'pgflow'::regnamespace and has_function_privilege(${role}, p.oid, 'execute')`
    expect(open).toEqual([])
  })

  test('may read and change no table of pgflow or pgmq, queues included, even if it were given the schemas', async () => {
    const open = await sql`
      select c.oid::regclass::text as name from pg_class c
      where c.relnamespace in ('pgflow'::regnamespace, 'pgmq'::regnamespace) and c.relkind in ('r', 'v', 'm', 'p')
        and has_table_privilege(${role}, c.oid, 'select, insert, update, delete, truncate')`
    expect(open).toEqual([])
  })

  test.each([
    `select * from pgflow.start_flow('closed', '{}')`,
    `select * from pgflow.runs`,
    `select * from pgflow.claim_tasks('closed__a', 'closed', gen_random_uuid(), 1, 'a')`,
    `select pgflow.requeue_stalled_tasks()`,
    `select pgflow.set_setting('local', 'on')`,
    `select * from pgmq.q_closed__a`,
    `select * from pgmq.read('closed__a', 1, 1)`,
  ])('is refused: %s', async (statement) => {
    expect(await refusal(client.unsafe(statement))).toMatchObject({ code: '42501' })
  })
})

/** What a role may execute, and which tables and views it may read or change in any way. */
async function opened(role: string) {
  const [schema] = await sql`select has_schema_privilege(${role}, 'pgflow', 'usage') as usage`
  const functions = await sql<{ name: string }[]>`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and has_function_privilege(${role}, p.oid, 'execute') order by 1`
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass || ': ' || string_agg(p.privilege, ', ' order by p.privilege) as name
    from pg_class c cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p(privilege)
    where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S')
      and has_table_privilege(${role}, c.oid, p.privilege)
    group by c.oid order by 1`
  return {
    usage: schema!.usage as boolean,
    functions: functions.map((row) => row.name),
    tables: tables.map((row) => row.name),
  }
}

describe('service_role', () => {
  const service = database.as('service_role', { connections: 2 })
  const core = new StarflowSql(service)

  test('runs a flow to its end: starts, claims, retries, releases and settles', async () => {
    const steps = shape({ list: {}, each: { map: true, after: ['list'] } }, { baseDelay: 0 })
    const owned = await CompiledFlow.compileShape(sql, 'served', steps)
    const workerId = randomUUID()
    expect(await core.registerWorker({ workerId, queueName: owned.queue('list'), functionName: 'served' })).toBe(
      'running',
    )
    const [runId] = await core.startFlows('served', [{}])
    const claim = async (stepSlug: string, reports = [] as Parameters<typeof core.settleTasks>[1]) =>
      (
        await core.settleAndClaim({
          workerId,
          reports,
          queueName: owned.queue(stepSlug),
          flowSlug: 'served',
          stepSlug,
          qty: 10,
          onUnsupported: 'skip',
        })
      ).claimed
    const [first] = await claim('list')
    const [second] = await claim('list', [failed(first!)])
    expect(await core.releaseTasks(workerId, [{ ...second!, started: false }])).toBe(1)
    const [third] = await claim('list')
    const elements = await claim('each', [completed(third!, [1, 2])])
    await core.settleTasks(
      workerId,
      elements.map((task) => completed(task, task.input)),
    )
    expect(await core.flowInput(runId!)).toEqual({})
    expect(await service`select status, output from pgflow.runs where run_id = ${runId!}`).toEqual([
      { status: 'completed', output: { each: [1, 2] } },
    ])
  })

  test('verifies a flow, beats, stops, recovers and sets settings', async () => {
    const result = await core.ensureFlowCompiled({
      flowSlug: 'closed',
      shape: shape({ a: { timeout: 61 } }),
      queueMode: 'step',
      routeMap: null,
      stepSlug: 'a',
    })
    expect(result).toMatchObject({ status: 'verified', options: ['step a: timeout changed from unset to 61'] })
    const workerId = randomUUID()
    await core.registerWorker({ workerId, queueName: 'closed__a', functionName: 'closed__a' })
    expect(await core.heartbeat(workerId)).toBe('running')
    await core.markWorkerStopped(workerId)
    expect(await core.requeueStalledTasks()).toBe(0)
    await core.setSetting('max_requeues', '2')
    await core.setSetting('max_requeues', null)
  })

  test('reads every table of the schema', async () => {
    const closed = await sql`
      select c.relname from pg_class c
      where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'v') and not has_table_privilege('service_role', c.oid, 'select')`
    expect(closed).toEqual([])
  })
})

test('PUBLIC may do nothing in the schema', async () => {
  expect(await opened('public')).toEqual({ usage: false, functions: [], tables: [] })
})

test('service_role may execute every function', async () => {
  const [row] = await sql`select count(*)::integer from pg_proc where pronamespace = 'pgflow'::regnamespace`
  expect((await opened('service_role')).functions).toHaveLength(row!.count)
})

test('default privileges of the project open nothing to anybody', async () => {
  const own = await testDatabase({ template: 'platform' })
  await own.sql
    .unsafe(`
    alter default privileges grant usage on schemas to anon;
    alter default privileges grant execute on functions to anon, public;
    alter default privileges grant all on tables to anon, authenticated;
    alter default privileges grant all on sequences to authenticated`)
    .simple()
  for (const migration of migrations) await own.sql.unsafe(migration.sql).simple()
  await CompiledFlow.compileShape(own.sql, 'byDefault', shape({ a: {} }))
  const open = await own.sql`
    select r.rolname, o.name from pg_roles r cross join (
      select n.nspname::text as name, n.oid, 'schema' as kind from pg_namespace n where n.nspname in ('pgflow', 'starflow')
      union all
      select p.oid::regprocedure::text, p.oid, 'function' from pg_proc p where p.pronamespace in ('pgflow'::regnamespace, 'starflow'::regnamespace)
      union all
      select c.oid::regclass::text, c.oid, 'table' from pg_class c
      where c.relnamespace in ('pgflow'::regnamespace, 'starflow'::regnamespace) and c.relkind in ('r', 'v')
      union all
      select c.oid::regclass::text, c.oid, 'table' from pg_class c
      where c.oid in ('pgmq.q_bydefault__a'::regclass, 'pgmq.a_bydefault__a'::regclass)
    ) o
    where r.rolname in ('anon', 'authenticated')
      and case o.kind when 'schema' then has_schema_privilege(r.oid, o.oid, 'usage, create')
                      when 'function' then has_function_privilege(r.oid, o.oid, 'execute')
                      else has_table_privilege(r.oid, o.oid, 'select, insert, update, delete, truncate, references, trigger') end`
  expect(open).toEqual([])
  expect(await own.as('service_role')`select pgflow.requeue_stalled_tasks() as requeued`).toEqual([{ requeued: 0 }])
})
