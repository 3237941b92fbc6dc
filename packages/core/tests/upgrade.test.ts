import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import { describe, expect, test } from 'vitest'
import { compareSnapshots, takeCatalogSnapshot } from '../../../scripts/catalog/catalog-snapshot.ts'
import { type TestDatabase, testDatabase } from '../../../tests/support/test-database.ts'
import { migrations } from '../src/migrations.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { RELEASED_ROWS, RELEASED_SCHEMA } from './support/released-schema.ts'
import { shape } from './support/shape.ts'

const RUN = (letter: string) => `00000000-0000-4000-8000-00000000000${letter}`
const TABLES = ['flows', 'steps', 'deps', 'runs', 'step_states', 'step_tasks', 'workers', 'worker_functions']

/** A populated database of the released line. */
async function releasedDatabase(): Promise<TestDatabase> {
  const database = await testDatabase({ template: 'platform' })
  await database.sql`create extension pgmq`
  await database.sql.unsafe(RELEASED_SCHEMA).simple()
  await database.sql.unsafe(RELEASED_ROWS).simple()
  return database
}

async function upgrade(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    for (const migration of migrations) await tx.unsafe(migration.sql).simple()
  })
}

const rowsOf = async (sql: Sql) =>
  Object.fromEntries(
    await Promise.all(
      TABLES.map(async (table) => [table, await sql.unsafe(`select * from pgflow.${table} order by 1, 2, 3`)] as const),
    ),
  )

describe('a populated database of the released line, after the migration', () => {
  test('has every row as it was, with routes and identities filled in', async () => {
    const { sql } = await releasedDatabase()
    const before = await rowsOf(sql)
    await upgrade(sql)
    const after = await rowsOf(sql)
    for (const table of TABLES) {
      expect(after[table], table).toHaveLength(before[table]!.length)
      expect(after[table], table).toMatchObject([...before[table]!])
    }
    expect(
      await sql`select flow_slug, step_slug, queue_name, feeds_map from pgflow.steps order by flow_slug collate "C", step_index`,
    ).toEqual([
      { flow_slug: 'Mails', step_slug: 'write', queue_name: 'mails', feeds_map: false },
      { flow_slug: 'lists', step_slug: 'load', queue_name: 'lists', feeds_map: true },
      { flow_slug: 'lists', step_slug: 'each', queue_name: 'lists', feeds_map: false },
      { flow_slug: 'lists', step_slug: 'sum', queue_name: 'lists', feeds_map: false },
    ])
    expect(
      await sql`select distinct flow_slug collate "C" as flow_slug, queue_name from pgflow.step_tasks order by 1`,
    ).toEqual([
      { flow_slug: 'Mails', queue_name: 'mails' },
      { flow_slug: 'lists', queue_name: 'lists' },
    ])
    expect(await sql`select from pg_namespace where nspname = 'pgflow_released'`).toHaveLength(0)
  })

  test('has the catalog of a new one', async () => {
    const upgraded = await releasedDatabase()
    await upgrade(upgraded.sql)
    const fresh = await testDatabase({ template: 'platform' })
    await upgrade(fresh.sql)
    const [left, right] = await Promise.all([takeCatalogSnapshot(upgraded.sql), takeCatalogSnapshot(fresh.sql)])
    expect(compareSnapshots(left, right).filter(({ id }) => !id.startsWith('pgmq.'))).toEqual([])
  })

  test('goes on: queued, held and mapped work ends, and its flows are verified', async () => {
    const { sql } = await releasedDatabase()
    await upgrade(sql)
    expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
    const mails = await CompiledFlow.compileShape(sql, 'Mails', shape({ write: { timeout: 20 } }), 'flow')
    const lists = await CompiledFlow.compileShape(
      sql,
      'lists',
      shape({
        load: {},
        each: { map: true, after: ['load'], whenExhausted: 'skip' },
        sum: { after: ['each'] },
      }),
      'flow',
    )
    await sql`select pgflow.requeue_stalled_tasks()`
    const elements: unknown[] = []
    await mails.drain(({ flowInput }) => flowInput)
    await lists.drain(({ stepSlug, input }) => {
      if (stepSlug === 'each') elements.push(input)
      return stepSlug === 'sum' ? input : 7
    })
    expect(elements).toEqual([null, 30])
    expect((await mails.run(RUN('a'))).output).toEqual({ write: { n: 1 } })
    expect((await mails.run(RUN('b'))).output).toEqual({ write: { n: 2 } })
    expect((await lists.run(RUN('e'))).output).toEqual({ sum: { each: [11, 7, 7] } })
    const [fresh] = await mails.start({ n: 9 })
    await mails.drain(() => 'new')
    expect((await mails.run(fresh!)).status).toBe('completed')
    expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
    expect(await sql`select queue_length from pgmq.metrics_all()`).toEqual([
      { queue_length: '0' },
      { queue_length: '0' },
    ])
    await sql`select pgflow.delete_flow_and_data('Mails'), pgflow.delete_flow_and_data('lists')`
    expect(await sql`select from pgmq.list_queues()`).toEqual([])
  })

  test('has no open task in a run that has failed and in a step that was skipped, and a retry goes on with the former', async () => {
    const { sql } = await releasedDatabase()
    // The released line leaves the tasks that were open then as they are.
    await sql`
      update pgflow.step_tasks set status = 'started', attempts_count = 1, started_at = now() - interval '2 hours', failed_at = null, error_message = null
      where run_id = ${RUN('d')}`
    await sql`
      update pgflow.step_states set status = 'skipped', remaining_tasks = null, skip_reason = 'handler_failed', skipped_at = now()
      where run_id = ${RUN('e')} and step_slug = 'each'`
    await upgrade(sql)
    expect(await sql`select status from pgflow.step_tasks where run_id = ${RUN('d')}`).toEqual([
      { status: 'cancelled' },
    ])
    expect(
      await sql`select status from pgflow.step_tasks where run_id = ${RUN('e')} and step_slug = 'each' order by task_index`,
    ).toEqual([{ status: 'completed' }, { status: 'skipped' }, { status: 'skipped' }])
    expect(await sql`select output from pgflow.complete_task(${RUN('d')}, 'write', 0, '"late"')`).toEqual([
      { output: null },
    ])
    await sql`select pgflow.retry_run(${RUN('d')})`
    const mails = await CompiledFlow.compileShape(sql, 'Mails', shape({ write: { timeout: 20 } }), 'flow')
    await mails.drain(() => 'again')
    expect(await mails.run(RUN('d'))).toMatchObject({ status: 'completed', output: { write: 'again' } })
  })

  test('lets each role do what it could: clients call and read, servers do all, and others nothing', async () => {
    const database = await releasedDatabase()
    const { sql } = database
    await sql`create role reporting`
    await sql`create role backend`
    await sql
      .unsafe(`
      grant usage on schema pgflow to anon, reporting, backend;
      revoke execute on function pgflow.requeue_stalled_tasks() from public;
      grant select on pgflow.runs to anon, reporting;
      grant all on all tables in schema pgflow to backend;`)
      .simple()
    await upgrade(sql)
    const may = async (role: string, what: string) =>
      (
        await sql`select has_function_privilege(${role}, ${`pgflow.${what}`}, 'execute') and has_schema_privilege(${role}, 'pgflow', 'usage') as may`
      )[0]!.may
    const start = 'start_flow_with_states(text, jsonb, uuid)'
    expect(await may('anon', start)).toBe(true)
    expect(await may('anon', 'start_flow(text, jsonb, uuid, text, timestamptz)')).toBe(false)
    expect(await may('anon', 'requeue_stalled_tasks()')).toBe(false)
    expect(await may('anon', 'cancel_run(uuid, text)')).toBe(false)
    expect(await may('backend', 'start_flow(text, jsonb, uuid, text, timestamptz)')).toBe(true)
    expect(await may('authenticated', start)).toBe(false)

    const anon = database.as('anon')
    expect(await anon`select status from pgflow.runs where run_id = ${RUN('c')}`).toEqual([{ status: 'completed' }])
    expect((await refusal(anon`select from pgflow.step_tasks`)).code).toBe('42501')
    const runId = randomUUID()
    const [started] = await anon`select pgflow.start_flow_with_states('Mails', '{"n": 7}', ${runId}) as state`
    expect(started!.state.run).toMatchObject({ run_id: runId, status: 'started' })
    const [seen] = await anon`select pgflow.get_run_with_states(${RUN('c')}) as state`
    expect(seen!.state.run).toMatchObject({ status: 'completed' })
  })

  test('sends the events of every run on public channels, as its clients expect', async () => {
    const { sql } = await releasedDatabase()
    await upgrade(sql)
    const [run] = await sql<{ run_id: string }[]>`select run_id from pgflow.start_flow('Mails', '{}')`
    expect(
      await sql`select distinct private from realtime.messages where topic = ${`pgflow:run:${run!.run_id}`}`,
    ).toEqual([{ private: false }])
  })

  test("keeps a project's own triggers and policies on the tables", async () => {
    const { sql } = await releasedDatabase()
    await sql
      .unsafe(`
      create table public.told (run_id uuid, status text);
      create function public.tell() returns trigger language plpgsql as $$
      begin insert into public.told values (new.run_id, new.status); return null; end $$;
      create trigger tell after update of status on pgflow.runs for each row when (new.status = 'completed') execute function public.tell();
      create policy finished_ones on pgflow.runs for select to authenticated using (status = 'completed');`)
      .simple()
    await upgrade(sql)
    const mails = await CompiledFlow.compileShape(sql, 'Mails', shape({ write: { timeout: 20 } }), 'flow')
    const [task] = await mails.claim('write', 1)
    await mails.core.settleTasks(mails.workerId, [{ ...task!, status: 'completed', output: '1' }])
    expect(await sql`select * from public.told`).toEqual([{ run_id: task!.runId, status: 'completed' }])
    expect(await sql`select roles::text, qual from pg_policies where policyname = 'finished_ones'`).toEqual([
      { roles: '{authenticated}', qual: "(status = 'completed'::text)" },
    ])
  })

  test('keeps a role reading what policies of the project show it of tables with row-level security, and no more', async () => {
    const database = await releasedDatabase()
    const { sql } = database
    await sql
      .unsafe(`
      alter table pgflow.runs enable row level security;
      alter table pgflow.step_states enable row level security;
      grant usage on schema pgflow to authenticated;
      grant select on pgflow.runs, pgflow.step_states to authenticated;
      create policy finished_ones on pgflow.runs for select to authenticated using (status = 'completed');`)
      .simple()
    const person = database.as('authenticated', { claims: { sub: randomUUID() } })
    const before = await person`select run_id from pgflow.runs order by run_id`
    expect(before.length).toBeGreaterThan(0)
    await upgrade(sql)
    expect(await person`select run_id from pgflow.runs order by run_id`).toEqual(before)
    expect((await refusal(person`select from pgflow.step_states`)).code).toBe('42501')
  })

  test('has its own function for old runs in the place of one that the project installed there', async () => {
    const { sql } = await releasedDatabase()
    await sql.unsafe(`
      create function pgflow.prune_data_older_than(retention_interval interval) returns void language plpgsql
      as $$ begin raise exception 'the old one'; end $$`)
    await upgrade(sql)
    const ended = sql`select from pgflow.runs where status <> 'started'`
    expect((await ended).length).toBeGreaterThan(0)
    const open = await sql`select run_id from pgflow.runs where status = 'started' order by run_id`
    // As the project's job calls it.
    await sql`select pgflow.prune_data_older_than(interval '1 microsecond')`
    expect(await sql`select run_id from pgflow.runs order by run_id`).toEqual(open)
  })
})

describe('an upgrade that cannot be is refused whole, with the reason:', () => {
  test.each([
    ['a slug of other rules', `insert into pgflow.flows values ('_old')`, 'flow "_old" breaks the rules for slugs.'],
    [
      'a step with two underscores',
      `insert into pgflow.steps (flow_slug, step_slug, step_index) values ('lists', 'a__b', 9)`,
      'step "a__b" of flow "lists" breaks the rules for slugs.',
    ],
    [
      'flows that differ in case',
      `insert into pgflow.flows values ('mails')`,
      'flows "Mails" and "mails" differ only in case.',
    ],
    [
      'steps that differ in case',
      `insert into pgflow.steps (flow_slug, step_slug, step_index) values ('lists', 'Sum', 9)`,
      'steps "Sum" and "sum" of flow "lists" differ only in case.',
    ],
    [
      'a name that is too long',
      `insert into pgflow.flows values (repeat('x', 48))`,
      `flow "${'x'.repeat(48)}" has a queue name of 48 characters, and 47 are the most.`,
    ],
    [
      'a message of two tasks',
      `update pgflow.step_tasks set message_id = 700 where task_index = 1 and step_slug = 'each'`,
      'message 700 of queue "lists" has 2 tasks.',
    ],
    ['a foreign table', 'create table pgflow.notes (text text)', '"notes" in schema pgflow is none of its tables.'],
    [
      'a view on a table',
      'create view public.open_runs as select run_id from pgflow.runs',
      expect.stringContaining('view open_runs depends on table pgflow.runs'),
    ],
  ])('%s rolls everything back', async (_what, change, detail) => {
    const { sql } = await releasedDatabase()
    await sql.unsafe(change).simple()
    const before = await rowsOf(sql)
    expect(await refusal(upgrade(sql))).toEqual({
      code: 'SF120',
      message: 'The database cannot be upgraded as it is.',
      detail,
      hint: expect.stringMatching(/^Nothing was changed\. /),
    })
    expect(await rowsOf(sql)).toEqual(before)
  })

  test('somebody holds a table for longer than 10 s', { timeout: 40_000 }, async () => {
    const database = await releasedDatabase()
    const holder = await database.connect().reserve()
    await holder`begin`
    await holder`update pgflow.runs set output = output where run_id = ${RUN('a')}`
    const upgrading = database.connect({ settings: { application_name: 'upgrade' } })
    const refused = refusal(upgrade(upgrading))
    await untilBlocked(database.sql, 'upgrade')
    expect(await refused).toMatchObject({ code: '55P03' })
    await holder`rollback`
    holder.release()
    expect(await database.sql`select from pgflow.runs`).toHaveLength(5)
  })
})
