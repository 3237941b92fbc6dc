import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'

const database = await testDatabase({ template: 'platform' })
const { sql } = database

// As migrations of a hosted project do it.
for (const extension of ['pgmq', 'pg_cron', 'pg_net', 'supabase_vault', 'pgcrypto', 'uuid-ossp']) {
  await sql`create extension if not exists ${sql(extension)}`
}

const denied = expect.objectContaining({ code: '42501' })

describe('roles', () => {
  test('have the attributes that they have on hosted projects', async () => {
    const rows = await sql`
      select rolname, rolsuper, rolcanlogin, rolinherit, rolcreaterole, rolbypassrls from pg_roles
      where rolname in ('supabase_admin', 'postgres', 'anon', 'authenticated', 'service_role', 'authenticator')`
    const role = (rolname: string, ...yes: string[]) => ({
      rolname,
      rolsuper: yes.includes('super'),
      rolcanlogin: yes.includes('login'),
      rolinherit: !yes.includes('noinherit'),
      rolcreaterole: yes.includes('createrole'),
      rolbypassrls: yes.includes('bypassrls'),
    })
    expect(rows).toHaveLength(6)
    expect(rows).toEqual(
      expect.arrayContaining([
        role('supabase_admin', 'super', 'login', 'createrole', 'bypassrls'),
        role('postgres', 'login', 'createrole', 'bypassrls'),
        role('anon'),
        role('authenticated'),
        role('service_role', 'bypassrls'),
        role('authenticator', 'login', 'noinherit'),
      ]),
    )
  })

  test('postgres owns the database but cannot do what needs a superuser', async () => {
    expect(await sql`select datdba::regrole::text as owner from pg_database where datname = ${database.name}`).toEqual([
      { owner: 'postgres' },
    ])
    await expect(sql`select pg_read_file('PG_VERSION')`).rejects.toEqual(denied)
    await expect(sql`create extension file_fdw`).rejects.toEqual(denied)
    await expect(sql`copy (select 1) to program 'true'`).rejects.toEqual(denied)
    await expect(sql`set session authorization supabase_admin`).rejects.toEqual(denied)
    await expect(sql`select * from pg_authid`).rejects.toEqual(denied)
  })

  test('postgres creates roles and schemas, becomes the API roles, sees and ends connections', async () => {
    const name = `made_${database.name}`
    await sql`create role ${sql(name)} nologin`
    await sql`create schema ${sql(name)}`
    await sql`drop schema ${sql(name)}`
    await sql`drop role ${sql(name)}`
    const member = await sql`
      select r as role from unnest(array['anon', 'authenticated', 'service_role', 'pg_monitor', 'pg_signal_backend']) r
      where pg_has_role(r, 'member')`
    expect(member).toHaveLength(5)
  })

  test('authenticator has no rights but to become an API role', async () => {
    expect(
      await sql`select r as role from unnest(array['anon', 'authenticated', 'service_role', 'postgres']) r
        where pg_has_role('authenticator', r, 'member')`,
    ).toEqual([{ role: 'anon' }, { role: 'authenticated' }, { role: 'service_role' }])
    const client = database.as('anon', { connections: 1 })
    await client`set role none`
    await expect(client`select * from auth.users`).rejects.toEqual(denied)
  })

  test('a new table in public is open to the API roles, as PostgREST needs it', async () => {
    await sql`create table public.notes (id int generated always as identity, text text)`
    await database.as('anon')`insert into notes (text) values ('hello')`
    expect(await database.as('authenticated')`select text from notes`).toEqual([{ text: 'hello' }])
  })
})

describe('what the API roles cannot reach', () => {
  test.each(['anon', 'authenticated'] as const)('%s reads nothing of pgmq, cron, net and vault', async (role) => {
    const client = database.as(role)
    for (const table of [
      'pgmq.meta',
      'cron.job',
      'cron.job_run_details',
      'net.http_request_queue',
      'net._http_response',
      'vault.secrets',
      'vault.decrypted_secrets',
    ]) {
      await expect(client.unsafe(`select * from ${table}`), table).rejects.toEqual(denied)
    }
  })

  test.each(['anon', 'authenticated'] as const)('%s calls nothing of pgmq, cron, net and vault', async (role) => {
    const client = database.as(role)
    for (const call of [
      "pgmq.create('q')",
      "cron.schedule('* * * * *', 'select 1')",
      'cron.unschedule(1)',
      "net.http_post('http://127.0.0.1')",
      "net.http_get('http://127.0.0.1')",
      "vault.create_secret('x')",
      "vault._decrypt('x')",
      'vault._key()',
    ]) {
      await expect(client.unsafe(`select ${call}`), call).rejects.toEqual(denied)
    }
  })

  test.each(['anon', 'authenticated'] as const)('%s cannot read users or messages without a policy', async (role) => {
    const client = database.as(role)
    await expect(client`select * from auth.users`).rejects.toEqual(denied)
    await sql`select realtime.send('{"n": 1}', 'event', 'topic')`
    expect(await client`select * from realtime.messages`).toHaveLength(0)
  })
})

describe('schemas', () => {
  test('the search path finds extensions by their bare names', async () => {
    expect(await sql`show search_path`).toEqual([{ search_path: '"$user", public, extensions' }])
    const [row] = await database.as('anon')`
      select encode(digest('x', 'sha256'), 'hex') as hash, uuid_generate_v4() as uuid`
    expect(row).toEqual({ hash: expect.stringMatching(/^2d711642/), uuid: expect.stringMatching(/^[0-9a-f-]{36}$/) })
  })

  test('auth tells who asks from the claims of the request', async () => {
    const sub = '5f0f1d3a-4b1c-4c49-9d5f-0a6a8c7b1e11'
    const client = database.as('authenticated', { claims: { sub, role: 'authenticated', org: 'acme' } })
    expect(await client`select auth.uid() as uid, auth.role() as role, auth.jwt() ->> 'org' as org`).toEqual([
      { uid: sub, role: 'authenticated', org: 'acme' },
    ])
    expect(await database.as('anon')`select auth.uid() as uid, auth.role() as role, auth.jwt() as jwt`).toEqual([
      { uid: null, role: null, jwt: {} },
    ])
  })

  test('postgres keeps users, and other tables refer to them', async () => {
    await sql`create table public.profiles (user_id uuid primary key references auth.users (id) on delete cascade)`
    const [user] =
      await sql`insert into auth.users (id, email) values (gen_random_uuid(), 'a@example.com') returning id`
    await sql`insert into public.profiles values (${user?.id})`
    await sql`delete from auth.users where id = ${user?.id}`
    expect(await sql`select from public.profiles`).toHaveLength(0)
  })

  test('realtime.send keeps a message and announces its id at commit', async () => {
    const announced: string[] = []
    const listener = database.connect()
    await listener.listen('realtime_messages', (id) => announced.push(id))
    await sql
      .begin(async (transaction) => {
        await transaction`select realtime.send('{"n": 0}', 'event', 'rolled back')`
        throw new Error('roll back')
      })
      .catch(() => {})
    await sql`select realtime.send(payload => '{"n": 1}', event => 'changed', topic => 'room', private => false)`
    const rows = await sql`select * from realtime.messages where topic in ('room', 'rolled back')`
    expect(rows).toMatchObject([
      { topic: 'room', extension: 'broadcast', payload: { n: 1 }, event: 'changed', private: false },
    ])
    await expect.poll(() => announced).toEqual([rows[0]?.id])
  })

  test('a policy on realtime.messages opens a topic, by name', async () => {
    await sql`create policy room on realtime.messages for select to authenticated using (realtime.topic() = 'open')`
    await sql`select realtime.send('{}', 'event', 'open')`
    const client = database.as('authenticated', { connections: 1 })
    expect(await client`select from realtime.messages`).toHaveLength(0)
    await client`select set_config('realtime.topic', 'open', false)`
    expect((await client`select from realtime.messages`).length).toBeGreaterThan(0)
  })
})

describe('supabase_vault', () => {
  test('keeps a secret encrypted and shows it to postgres and service_role', async () => {
    const [row] = await sql`select vault.create_secret('s3cret', 'api_key', 'for tests') as id`
    const [stored] = await sql`select * from vault.secrets where id = ${row?.id}`
    expect(stored).toMatchObject({ name: 'api_key', description: 'for tests', key_id: null })
    expect(Buffer.from(stored?.secret, 'base64').toString('latin1')).not.toContain('s3cret')
    for (const client of [sql, database.as('service_role')]) {
      expect(
        await client`select name, decrypted_secret, created_at, updated_at from vault.decrypted_secrets where name = 'api_key'`,
      ).toEqual([
        { name: 'api_key', decrypted_secret: 's3cret', created_at: expect.any(Date), updated_at: expect.any(Date) },
      ])
    }
  })

  test('changes only what update_secret is given', async () => {
    const [row] = await sql`select vault.create_secret('old', 'changing', 'kept') as id`
    await sql`select vault.update_secret(${row?.id}, 'new')`
    await sql`select vault.update_secret(${row?.id}, new_name => 'changed')`
    expect(
      await sql`select name, description, decrypted_secret from vault.decrypted_secrets where id = ${row?.id}`,
    ).toEqual([{ name: 'changed', description: 'kept', decrypted_secret: 'new' }])
  })

  test('refuses a second secret of one name, and takes many without a name', async () => {
    await sql`select vault.create_secret('1'), vault.create_secret('2')`
    await sql`select vault.create_secret('1', 'unique')`
    await expect(sql`select vault.create_secret('2', 'unique')`).rejects.toMatchObject({ code: '23505' })
  })

  test('lets postgres delete a secret, but neither see the key nor write past the functions', async () => {
    await sql`select vault.create_secret('1', 'gone')`
    expect(await sql`delete from vault.secrets where name = 'gone' returning name`).toEqual([{ name: 'gone' }])
    await expect(sql`select vault._key()`).rejects.toEqual(denied)
    await expect(sql`insert into vault.secrets (secret) values ('plain')`).rejects.toEqual(denied)
  })
})
