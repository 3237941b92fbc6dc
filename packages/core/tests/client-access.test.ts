import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import { beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const flow = await CompiledFlow.compileShape(sql, 'shared', shape({ a: { maxAttempts: 1 }, b: { after: ['a'] } }))

const person = () => {
  const id = randomUUID()
  return { id, sql: database.as('authenticated', { claims: { sub: id, role: 'authenticated' } }) }
}
const mine = person()
const theirs = person()
const start = async (client: Sql, runId: string | null = null) => {
  const [run] = await client<{ run_id: string }[]>`
    select run_id from pgflow.start_flow('shared', '{"secret": 1}', ${runId})`
  return run!.run_id
}

const CLIENT_FUNCTIONS = [
  'pgflow._caller_id()',
  'pgflow._may_watch(text)',
  'pgflow.cancel_run(uuid,text)',
  'pgflow.cancel_runs(uuid[],text)',
  'pgflow.get_run_with_states(uuid)',
  'pgflow.resume_wait(text,jsonb)',
  'pgflow.retry_run(uuid)',
  'pgflow.retry_runs(uuid[])',
  'pgflow.start_flow(text,jsonb,uuid,text,timestamp with time zone)',
  'pgflow.start_flow_with_states(text,jsonb,uuid)',
  'pgflow.start_flows(text,jsonb,uuid[])',
]
const CLIENT_TABLES = ['deps', 'flows', 'runs', 'step_states', 'step_tasks', 'steps', 'task_attempts']

const everything = async (role: string) => {
  const functions = await sql<{ name: string }[]>`
    select p.oid::regprocedure::text collate "C" as name from pg_proc p
    where p.pronamespace = 'pgflow'::regnamespace and has_function_privilege(${role}, p.oid, 'execute') order by 1`
  const tables = await sql<{ name: string; privilege: string }[]>`
    select c.relname as name, p.privilege from pg_class c
    cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p(privilege)
    where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S')
      and has_table_privilege(${role}, c.oid, p.privilege) order by 1, 2`
  const queues = await sql<{ name: string }[]>`
    select c.relname as name from pg_class c where c.relnamespace = 'pgmq'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
      and has_table_privilege(${role}, c.oid, 'select, insert, update, delete, truncate')`
  return {
    functions: functions.map((row) => row.name),
    tables: tables.map((row) => `${row.name} ${row.privilege}`),
    queues: queues.map((row) => row.name),
  }
}

describe('before and after client access', () => {
  test('a role has nothing, then exactly the client functions and reading its tables, then nothing again', async () => {
    const nothing = { functions: [], tables: [], queues: [] }
    const untouched = await Promise.all(['anon', 'public', 'service_role'].map(everything))
    expect(await everything('authenticated')).toEqual(nothing)
    await sql`select pgflow.grant_client_access('authenticated')`
    expect(await everything('authenticated')).toEqual({
      functions: CLIENT_FUNCTIONS,
      tables: CLIENT_TABLES.map((name) => `${name} select`),
      queues: [],
    })
    expect(await Promise.all(['anon', 'public', 'service_role'].map(everything))).toEqual(untouched)
    await sql`select pgflow.revoke_client_access('authenticated')`
    expect(await everything('authenticated')).toEqual(nothing)
    expect(await sql`select has_schema_privilege('authenticated', 'pgflow', 'usage') as usage`).toEqual([
      { usage: false },
    ])
  })

  test('granting and revoking twice is fine', async () => {
    for (const name of ['grant', 'grant', 'revoke', 'revoke']) {
      await sql.unsafe(`select pgflow.${name}_client_access('authenticated')`)
    }
    expect((await everything('authenticated')).functions).toEqual([])
  })

  test.each(['nobody', 'public', 'anon"; drop table pgflow.runs; --'])(
    'a role that does not exist is named: %s',
    async (role) => {
      for (const name of ['grant', 'revoke']) {
        expect(await refusal(sql.unsafe(`select pgflow.${name}_client_access($1)`, [role]))).toMatchObject({
          code: 'SF001',
          message: `Role "${role}" does not exist.`,
        })
      }
    },
  )

  test('a server role is refused, so that revoking never stops the workers', async () => {
    for (const name of ['grant', 'revoke']) {
      expect(await refusal(sql.unsafe(`select pgflow.${name}_client_access('service_role')`))).toMatchObject({
        code: 'SF001',
        message: 'Role "service_role" is not a client.',
      })
    }
  })
})

describe('a signed-in person', () => {
  let own: string
  let other: string
  beforeAll(async () => {
    await sql`select pgflow.grant_client_access('authenticated')`
    other = await start(theirs.sql)
    const tasks = await flow.claim('a')
    await flow.core.settleTasks(
      flow.workerId,
      tasks.map((task) => completed(task, 'secret output')),
    )
    own = await start(mine.sql)
    await flow.start({ of: 'the server' })
    await sql`
      insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, reason, error_message)
      select run_id, step_slug, task_index, 9, 'failed', 'secret error' from pgflow.step_tasks where step_slug = 'a'`
  })

  test('owns the runs that they start', async () => {
    expect(await sql`select owner from pgflow.runs where run_id = ${own}`).toEqual([{ owner: mine.id }])
  })

  test.each(['runs', 'step_states', 'step_tasks', 'task_attempts'])(
    'reads only their own rows of %s',
    async (table) => {
      const rows = await mine.sql.unsafe<{ run_id: string }[]>(`select run_id from pgflow.${table}`)
      expect(rows.length).toBeGreaterThan(0)
      expect(new Set(rows.map((row) => row.run_id))).toEqual(new Set([own]))
    },
  )

  test('reads the definitions, which are needed to show a run', async () => {
    expect(await mine.sql`select step_slug from pgflow.steps order by step_index`).toEqual([
      { step_slug: 'a' },
      { step_slug: 'b' },
    ])
    expect(await mine.sql`select flow_slug from pgflow.flows`).toEqual([{ flow_slug: 'shared' }])
    expect(await mine.sql`select dep_slug, step_slug from pgflow.deps`).toEqual([{ dep_slug: 'a', step_slug: 'b' }])
  })

  test.each([
    'settings',
    'workers',
    'worker_functions',
    'watched_runs',
    'option_changes',
    'liveness_audit',
    'queue_coverage',
    'unsupported_messages',
    'version_drain',
  ])('reads nothing of %s', async (table) => {
    expect((await refusal(mine.sql.unsafe(`select * from pgflow.${table}`))).code).toBe('42501')
  })

  test.each([
    `update pgflow.runs set status = 'completed'`,
    `delete from pgflow.step_tasks`,
    `insert into pgflow.runs (flow_slug, input) values ('shared', '{}')`,
    `select * from pgflow.complete_task(gen_random_uuid(), 'a', 0, '1')`,
    `select * from pgmq.q_shared__a`,
    `select * from pgmq.a_shared__a`,
    `select pgmq.send('shared__a', '{}')`,
    `select pgflow.pause_flow('shared')`,
    `select pgflow.grant_client_access('anon')`,
  ])('is refused: %s', async (statement) => {
    expect((await refusal(mine.sql.unsafe(statement))).code).toBe('42501')
  })

  test('is given their own run with its states, and null for those of others and of the server', async () => {
    const ask = async (runId: string) =>
      (await mine.sql`select pgflow.get_run_with_states(${runId}) as found`)[0]!.found
    expect(await ask(own)).toMatchObject({
      run: { run_id: own, owner: mine.id },
      steps: [{ step_slug: 'a' }, { step_slug: 'b' }],
    })
    expect(await ask(other)).toBeNull()
    const [server] = await sql<{ run_id: string }[]>`select run_id from pgflow.runs where owner is null`
    expect(await ask(server!.run_id)).toBeNull()
    expect(await ask(randomUUID())).toBeNull()
  })

  test('leaves no watch on a run that is none of theirs', async () => {
    await mine.sql`select pgflow.get_run_with_states(${other})`
    expect(await sql`select from pgflow.watched_runs where run_id = ${other}`).toHaveLength(0)
    await refusal(mine.sql`select pgflow.start_flow_with_states('shared', '{}', ${other})`)
    expect(await sql`select from pgflow.watched_runs where run_id = ${other}`).toHaveLength(0)
  })

  test.each(['cancel_run', 'retry_run'])('changes no run of others with %s', async (name) => {
    expect(await mine.sql.unsafe(`select * from pgflow.${name}($1)`, [other])).toHaveLength(0)
    expect(await sql`select status from pgflow.runs where run_id = ${other}`).toEqual([{ status: 'started' }])
  })

  test('cancels and retries their own', async () => {
    const runId = await start(mine.sql)
    expect(await mine.sql`select status from pgflow.cancel_run(${runId}, 'mine')`).toEqual([{ status: 'cancelled' }])
    expect(await mine.sql`select status from pgflow.retry_run(${runId})`).toEqual([{ status: 'started' }])
  })

  test('who asks for the run id of somebody else learns neither its flow nor its input', async () => {
    const attempts = [
      mine.sql`select pgflow.start_flow('shared', '{}', ${other})`,
      mine.sql`select pgflow.start_flow_with_states('shared', '{}', ${other})`,
      mine.sql`select pgflow.start_flows('shared', '[1]', array[${other}]::uuid[])`,
    ]
    for (const attempt of attempts) {
      const refused = await refusal(attempt)
      expect(refused).toMatchObject({ code: 'SF202', message: `Run id ${other} cannot be used.` })
      expect(JSON.stringify(refused)).not.toMatch(/secret|belongs|exists/)
    }
  })

  test('starts many runs in one call, all of them theirs', async () => {
    const runs = await mine.sql<{ owner: string }[]>`select owner from pgflow.start_flows('shared', '[1, 2, 3]')`
    expect(runs.map((run) => run.owner)).toEqual([mine.id, mine.id, mine.id])
  })

  test('starts at most 1000 runs in one call, which the server may exceed', async () => {
    const refused = await refusal(
      mine.sql`select pgflow.start_flows('shared', (select jsonb_agg(n) from generate_series(1, 1001) n))`,
    )
    expect(refused).toMatchObject({ code: 'SF203', detail: '1001 inputs; a client may send 1000.' })
    const undo = new Error('undo')
    const many = sql.begin(async (tx) => {
      const rows =
        await tx`select from pgflow.start_flows('shared', (select jsonb_agg(n) from generate_series(1, 1001) n))`
      expect(rows).toHaveLength(1001)
      throw undo
    })
    await expect(many).rejects.toBe(undo)
  })
})

describe('an anonymous caller without a subject', () => {
  const nobody = database.as('anon', { claims: { role: 'anon' } })
  beforeAll(() => sql`select pgflow.grant_client_access('anon')`)

  test('starts runs, and sees none of them', async () => {
    const runId = await start(nobody)
    expect(await sql`select owner, status from pgflow.runs where run_id = ${runId}`).toEqual([
      { owner: '00000000-0000-0000-0000-000000000000', status: 'started' },
    ])
    expect(await nobody`select * from pgflow.runs`).toHaveLength(0)
    expect(await nobody`select pgflow.get_run_with_states(${runId}) as found`).toEqual([{ found: null }])
    expect(await nobody`select * from pgflow.cancel_run(${runId})`).toHaveLength(0)
  })

  test.each(['not a uuid', '', 7, null, { sub: 'nested' }])('with the subject %j is nobody', async (sub) => {
    const odd = database.as('anon', { claims: { sub } })
    await start(odd)
    expect(await odd`select pgflow._caller_id() as id`).toEqual([{ id: null }])
    expect(await odd`select * from pgflow.runs`).toHaveLength(0)
  })
})

describe('a trigger', () => {
  beforeAll(async () => {
    await sql`create table public.orders (id integer primary key)`
    await sql`alter table public.orders enable row level security`
    await sql`create policy everybody on public.orders using (true) with check (true)`
    await sql.unsafe(`
      create function public.start_order() returns trigger language plpgsql as
      $$ begin perform pgflow.start_flow('shared', to_jsonb(new)); return new; end $$;
      create trigger start_order after insert on public.orders for each row execute function public.start_order()`)
    await sql`select pgflow.grant_client_access('authenticated')`
  })

  test('of a signed-in person starts a run that is theirs', async () => {
    await mine.sql`insert into public.orders values (1)`
    expect(await sql`select owner from pgflow.runs where input = '{"id": 1}'`).toEqual([{ owner: mine.id }])
  })

  test('of the role alone, without a request behind it, starts a run too', async () => {
    const bare = database.as('authenticated')
    await bare`insert into public.orders values (2)`
    expect(await sql`select owner from pgflow.runs where input = '{"id": 2}'`).toEqual([
      { owner: '00000000-0000-0000-0000-000000000000' },
    ])
  })

  test('that runs with the rights of its owner starts a run even without client access', async () => {
    await sql`select pgflow.revoke_client_access('authenticated')`
    expect((await refusal(mine.sql`insert into public.orders values (3)`)).code).toBe('42501')
    await sql`alter function public.start_order() security definer`
    await mine.sql`insert into public.orders values (4)`
    expect(await sql`select owner from pgflow.runs where input = '{"id": 4}'`).toEqual([{ owner: mine.id }])
    await sql`select pgflow.grant_client_access('authenticated')`
  })
})

describe('the private channel of a run', () => {
  const canListen = async (client: Sql, topic: string) => {
    const rows = await client.begin(async (tx) => {
      await tx`select set_config('realtime.topic', ${topic}, true)`
      return await tx`select id from realtime.messages limit 1`
    })
    return rows.length > 0
  }
  beforeAll(async () => {
    await sql`select pgflow.grant_client_access('authenticated')`
    await sql`select realtime.send('{}', 'any', 'any', true)`
  })

  test('is open to its owner and to nobody else', async () => {
    const runId = await start(mine.sql)
    expect(await canListen(mine.sql, `pgflow:run:${runId}`)).toBe(true)
    expect(await canListen(theirs.sql, `pgflow:run:${runId}`)).toBe(false)
  })

  test.each([
    '',
    'pgflow:run:',
    'pgflow:run:x',
    'room:1',
    `pgflow:run:${randomUUID()}`,
    `x pgflow:run:${randomUUID()}`,
  ])('gives nothing for the topic %j', async (topic) => {
    expect(await canListen(mine.sql, topic)).toBe(false)
  })

  test('closes when client access is taken back, and the policies of the project stay', async () => {
    await sql`create policy of_the_project on realtime.messages for select to authenticated using (realtime.topic() = 'room:1')`
    const runId = await start(mine.sql)
    await sql`select pgflow.revoke_client_access('authenticated')`
    expect(await canListen(mine.sql, `pgflow:run:${runId}`)).toBe(false)
    expect(await canListen(mine.sql, 'room:1')).toBe(true)
    await sql`drop policy of_the_project on realtime.messages`
    await sql`select pgflow.grant_client_access('authenticated')`
  })

  test.each([
    ['is missing', 'drop schema realtime cascade'],
    ['has no table', 'drop table realtime.messages'],
    ['belongs to somebody else', 'alter table realtime.messages owner to supabase_admin'],
  ])('where Realtime %s stays closed, and access is granted and taken all the same', async (_what, damage) => {
    const other = await spare.pop()!
    const admin = other.as('supabase_admin', { connections: 1 })
    await admin.unsafe(damage)
    await admin.end()
    const granted = async () =>
      (
        await other.sql`select has_function_privilege('authenticated', 'pgflow.retry_run(uuid)', 'execute') as granted`
      )[0]!.granted
    await other.sql`select pgflow.grant_client_access('authenticated')`
    expect(await granted()).toBe(true)
    await other.sql`select pgflow.revoke_client_access('authenticated')`
    expect(await granted()).toBe(false)
    await other.dispose()
  })
  const spare = [testDatabase(), testDatabase(), testDatabase()]
})
