import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'
import { issueToken, setWaitKey, TEST_SECRET } from './support/wait-tokens.ts'

// What a role with SQL and TEMP on the database can put in the way: the temporary schema is its own, and a name that is not
// qualified is looked for there too.
const database = await testDatabase()
const { sql } = database
const SCHEMAS = ['pgflow', 'starflow', 'pgmq', 'cron', 'net', 'vault', 'realtime', 'extensions', 'auth']

interface Routine {
  readonly name: string
  readonly body: string
}
const routines = async () => sql<Routine[]>`
  select p.oid::regprocedure::text as name, p.prosrc as body from pg_proc p
  join pg_language l on l.oid = p.prolang and l.lanname in ('sql', 'plpgsql')
  where p.pronamespace::regnamespace::text = any (${SCHEMAS})`
const namesOf = async (query: string) => (await sql.unsafe(query)).map((row) => row.name as string)

test('every function that runs with the rights of its owner looks in pg_temp last, those of the local extensions too', async () => {
  const open = await sql`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace::regnamespace::text = any (${SCHEMAS}) and p.prosecdef
      and not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog, pg_temp']`
  expect(open).toEqual([])
})

test('no function names a table, a type or a function of a schema but pg_catalog without that schema', async () => {
  const schemas = SCHEMAS.map((name) => `'${name}'`).join(', ')
  const own = `nspname in (${schemas})`
  const relations = await namesOf(
    `select distinct c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${own} and c.relkind <> 'i'`,
  )
  const functions = await namesOf(
    `select distinct p.proname::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${own}
       and not exists (select from pg_proc c where c.proname = p.proname and c.pronamespace = 'pg_catalog'::regnamespace)`,
  )
  const found: string[] = []
  for (const { name, body } of await routines()) {
    const code = body.replaceAll(/--.*$/gm, '')
    // A query's own names: with runs as (…), insert into … (…).
    const local = new Set(
      [...code.matchAll(/\b(\w+)\s+as\s+(?:not\s+)?(?:materialized\s+)?\(/g)].map((match) => match[1]),
    )
    const places = [
      ...code.matchAll(/\b(?:from|join|update|into|only|table|truncate)\s+(\w+)\b(?!\s*[.(])/g),
      ...code.matchAll(/::(\w+)\b(?!\.)/g),
    ]
    for (const [place, word] of places) {
      if (relations.includes(word!) && !local.has(word)) found.push(`${name}: ${place}`)
    }
    for (const [place, word] of code.matchAll(/(?<![\w.%])(\w+)\(/g)) {
      if (functions.includes(word!) && !local.has(word)) found.push(`${name}: ${place}`)
    }
  }
  expect(found).toEqual([])
})

describe('a signed-in person with SQL of their own', () => {
  const attacker = database.as('authenticated', {
    connections: 1,
    claims: { sub: randomUUID(), role: 'authenticated' },
  })
  let token: string

  beforeAll(async () => {
    await setWaitKey(sql, TEST_SECRET)
    await sql`select pgflow.grant_client_access('authenticated')`
    await CompiledFlow.compileShape(sql, 'besieged', shape({ a: {}, ask: { wait: true }, last: { after: ['ask'] } }))
    const [run] = await attacker`select run_id from pgflow.start_flow('besieged', '{}')`
    token = await issueToken(sql, run!.run_id, 'ask')
    await attacker.unsafe(`
      create function pg_temp.alarm() returns boolean language plpgsql as $$
      begin
        if current_user <> 'authenticated' then
          raise exception 'runs as %', current_user using errcode = 'ZZ001';
        end if;
        return true;
      end $$;
      create function pg_temp.hmac(bytea, bytea, text) returns bytea language plpgsql as $$
      begin
        raise exception 'secret % of %', convert_from($2, 'UTF8'), current_user using errcode = 'ZZ001';
      end $$`)
  })

  /** A stand-in in the temporary schema for everything of pg_catalog that a function body has a word for. */
  const plant = async () => {
    const words = new Set((await routines()).flatMap(({ body }) => body.match(/\w+/g) ?? []))
    const types = await namesOf(
      `select typname::text as name from pg_type where typnamespace = 'pg_catalog'::regnamespace and typtype = 'b' and typelem = 0`,
    )
    const relations = await namesOf(
      `select relname::text as name from pg_class where relnamespace = 'pg_catalog'::regnamespace and relkind in ('r', 'v')`,
    )
    const planted: string[] = []
    for (const name of types.filter((type) => words.has(type))) {
      await attacker.unsafe(`create domain pg_temp."${name}" as pg_catalog."${name}" check (pg_temp.alarm())`)
      planted.push(name)
    }
    for (const name of relations.filter((relation) => words.has(relation))) {
      await attacker.unsafe(`create view pg_temp."${name}" as select * from pg_catalog."${name}" where pg_temp.alarm()`)
      planted.push(name)
    }
    return planted
  }

  test('gets none of their code run by a function of ours, whatever they put into the temporary schema', async () => {
    expect(await plant()).toEqual(expect.arrayContaining(['uuid', 'text', 'jsonb', 'pg_extension', 'pg_namespace']))
    await attacker.unsafe(`
      create table pg_temp.runs (like pgflow.runs);
      create table pg_temp.settings (key pg_catalog.text, value pg_catalog.text);
      insert into pg_temp.settings values ('test_clock', 'on'), ('unowned_runs', 'visible')`)
    const [run] = await attacker.unsafe(`select run_id from pgflow.start_flow('besieged', '{}', null, 'key')`)
    const runId = run!.run_id as string
    await attacker.unsafe(`select pgflow.start_flows('besieged', '[{}, {}]')`)
    await attacker.unsafe(`select pgflow.start_flow_with_states('besieged', '{}')`)
    await attacker.unsafe(`select pgflow.get_run_with_states('${runId}'), pgflow._may_watch('pgflow:run:${runId}')`)
    await attacker.unsafe(`select count(*) from pgflow.runs`)
    expect(await attacker.unsafe(`select outcome from pgflow.resume_wait($1, '{"by": "me"}')`, [token])).toEqual([
      { outcome: 'accepted' },
    ])
    await attacker.unsafe(`select pgflow.cancel_run('${runId}', 'enough')`)
    await attacker.unsafe(`select pgflow.retry_run('${runId}')`)
    await sql.unsafe(`
      create function pgflow.careless() returns uuid language plpgsql security definer set search_path = '' as $$
      begin
        return '${runId}'::uuid;
      end $$;
      grant execute on function pgflow.careless() to authenticated`)
    expect(await refusal(attacker.unsafe('select pgflow.careless()'))).toMatchObject({ code: 'ZZ001' })
    await sql`drop function pgflow.careless()`
    await attacker.unsafe('discard temp')
  })

  test('cannot have a forged token checked by an hmac of theirs', async () => {
    await attacker.unsafe(`
      create function pg_temp.hmac(bytea, bytea, text) returns bytea language sql as $$ select '\\x000000'::bytea $$;
      create table pg_temp.pg_extension as select oid, 'pgcrypto'::name as extname, 1::oid as extnamespace from pg_catalog.pg_extension limit 1;
      create table pg_temp.pg_namespace as select 1::oid as oid, (select nspname from pg_catalog.pg_namespace where oid = pg_my_temp_schema()) as nspname`)
    const [, kid, body] = token.split('.')
    expect(
      await refusal(attacker.unsafe(`select pgflow.resume_wait($1, '{"forged": true}')`, [`sfw1.${kid}.${body}.AAAA`])),
    ).toMatchObject({
      code: 'SF207',
    })
    await attacker.unsafe('discard temp')
  })
})
