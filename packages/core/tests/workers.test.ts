import { randomUUID } from 'node:crypto'
import type { Sql, TransactionSql } from 'postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { randomFrom } from '../../../tests/support/random.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

const BASE_URL = 'http://functions.test/v1'

interface Ping {
  readonly url: string
  readonly body: unknown
  readonly headers: Record<string, string>
  readonly timeout: number
}

// Stands in for pg_net: keeps what it is asked to send, and fails for functions whose name says so.
await sql`create extension pg_net`
await sql`create table public.pings (id serial, url text, body jsonb, headers jsonb, timeout integer)`
await sql`
  create or replace function net.http_post(
    url text, body jsonb default '{}', params jsonb default '{}',
    headers jsonb default '{"Content-Type": "application/json"}', timeout_milliseconds integer default 5000)
  returns bigint language plpgsql as $$
  declare v_id bigint;
  begin
    if url like '%raises' then raise exception 'pg_net is down'; end if;
    if url like '%silent' then return null; end if;
    if url like '%slowly' then perform pg_sleep(0.1); end if;
    if url like '%hangs' then set local lock_timeout = 0; perform pg_advisory_xact_lock(77); end if;
    insert into public.pings (url, body, headers, timeout) values (url, body, headers, timeout_milliseconds) returning id into v_id;
    return v_id;
  end $$`

const secret = async (name: string, value: string) => {
  await sql`delete from vault.secrets where name = ${name}`
  await sql`select vault.create_secret(${value}, ${name})`
}

/** As it is after a restore without the key of the Vault. */
const undecryptable = async (name: string) => {
  const admin = database.as('supabase_admin', { connections: 1 })
  await admin`update vault.secrets set secret = 'bm8gY2lwaGVydGV4dA==' where name = ${name}`
}

const pings = async () => await sql<Ping[]>`select url, body, headers, timeout from public.pings order by id`

/** One tick of cron: which functions were pinged. */
const tick = async () => {
  await sql`truncate public.pings`
  await sql`select * from pgflow.ensure_workers()`
  return (await pings()).map((ping) => ping.url.slice(BASE_URL.length + 1))
}

const worker = async (functionName: string, startMode: 'http' | 'process' = 'http') => {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName: functionName, functionName, startMode })
  return workerId
}

const workerRow = async (workerId: string) => {
  const [row] = await sql`select * from pgflow.workers where worker_id = ${workerId}`
  return row!
}

const functionRow = async (functionName: string) => {
  const [row] = await sql`select * from pgflow.worker_functions where function_name = ${functionName}`
  return row
}

/** As if that long ago the function had been pinged for the last time. */
const invokedAgo = (functionName: string, ago: string) =>
  sql`update pgflow.worker_functions set last_invoked_at = now() - ${ago}::interval where function_name = ${functionName}`

const silentFor = (workerId: string, ago: string) =>
  sql`update pgflow.workers set last_heartbeat_at = now() - ${ago}::interval, started_at = now() - ${ago}::interval where worker_id = ${workerId}`

class RollBack extends Error {}

const inRolledBack = async (client: Sql, work: (tx: TransactionSql) => Promise<void>) => {
  await client
    .begin(async (tx) => {
      await work(tx)
      throw new RollBack()
    })
    .catch((error: unknown) => {
      if (!(error instanceof RollBack)) throw error
    })
}

beforeEach(async () => {
  await sql`truncate public.pings`
  await sql`delete from vault.secrets`
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
  await sql`delete from pgflow.settings`
  await core.setSetting('functions_base_url', BASE_URL)
  await secret('pgflow_auth_secret', 'dedicated')
})

describe('a worker', () => {
  test('that registers is running, and so is its heartbeat', async () => {
    const workerId = randomUUID()
    expect(await core.registerWorker({ workerId, queueName: 'q', functionName: 'f' })).toBe('running')
    expect(await core.heartbeat(workerId)).toBe('running')
    expect(await workerRow(workerId)).toMatchObject({
      queue_name: 'q',
      function_name: 'f',
      deprecated_at: null,
      stopped_at: null,
    })
  })

  test('makes its function known when it registers', async () => {
    await worker('f')
    await worker('p', 'process')
    expect([await functionRow('f'), await functionRow('p')]).toMatchObject([
      { enabled: true, start_mode: 'http' },
      { enabled: true, start_mode: 'process' },
    ])
  })

  test('that registers again under its id takes the row over', async () => {
    const workerId = await worker('f')
    await core.markWorkerStopped(workerId)
    expect(await core.registerWorker({ workerId, queueName: 'other', functionName: 'f' })).toBe('running')
    expect(await workerRow(workerId)).toMatchObject({ queue_name: 'other', deprecated_at: null, stopped_at: null })
  })

  test('of a disabled function is fenced, and registering does not lift the fence', async () => {
    await core.trackWorkerFunction('f')
    await sql`update pgflow.worker_functions set enabled = false`
    const workerId = randomUUID()
    expect(await core.registerWorker({ workerId, queueName: 'q', functionName: 'f' })).toBe('fenced')
    expect(await core.heartbeat(workerId)).toBe('fenced')
    await core.trackWorkerFunction('f')
    expect(await functionRow('f')).toMatchObject({ enabled: false })
  })

  test('that is deprecated or stopped is told by its heartbeat, and keeps the first instant', async () => {
    const [a, b] = [await worker('f'), await worker('f')]
    await core.deprecateWorker(a)
    await core.markWorkerStopped(b)
    const first = [await workerRow(a), await workerRow(b)]
    await core.deprecateWorker(a)
    await core.markWorkerStopped(b)
    expect([await core.heartbeat(a), await core.heartbeat(b)]).toEqual(['deprecated', 'deprecated'])
    expect((await workerRow(a)).deprecated_at).toEqual(first[0]!.deprecated_at)
    expect((await workerRow(b)).stopped_at).toEqual(first[1]!.stopped_at)
  })

  test('without a row is unknown', async () => {
    expect(await core.heartbeat(randomUUID())).toBe('unknown')
  })

  test('that beats is heard of', async () => {
    const workerId = await worker('f')
    await silentFor(workerId, '1 hour')
    await core.heartbeat(workerId)
    const [row] = await sql`select last_heartbeat_at > now() - interval '5 s' as is_fresh from pgflow.workers`
    expect(row).toEqual({ is_fresh: true })
  })

  test('may be pruned although a task names it', async () => {
    const flow = await CompiledFlow.compileShape(sql, 'pruned', shape({ a: {} }))
    const [runId] = await flow.start({})
    await flow.claim('a')
    await sql`delete from pgflow.workers where worker_id = ${flow.workerId}`
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'started' }])
  })
})

describe('ensure_workers', () => {
  test('pings an enabled function without a live worker, with its key, a body and a time limit', async () => {
    await core.trackWorkerFunction('f')
    expect(await sql`select * from pgflow.ensure_workers()`).toEqual([
      { function_name: 'f', invoked: true, request_id: expect.stringMatching(/^\d+$/) },
    ])
    expect(await pings()).toEqual([
      {
        url: `${BASE_URL}/f`,
        body: {},
        headers: { 'Content-Type': 'application/json', Authorization: 'Bearer dedicated', apikey: 'dedicated' },
        timeout: 10_000,
      },
    ])
  })

  test('falls back to the service role key, also when the dedicated secret is empty', async () => {
    await secret('pgflow_auth_secret', '')
    await secret('supabase_service_role_key', 'service')
    await core.trackWorkerFunction('f')
    await tick()
    expect((await pings())[0]!.headers).toMatchObject({ Authorization: 'Bearer service', apikey: 'service' })
  })

  test('derives the URL of a hosted project from its id', async () => {
    await core.setSetting('functions_base_url', null)
    await secret('supabase_project_id', 'abcdef')
    await core.trackWorkerFunction('f')
    await tick()
    expect((await pings())[0]!.url).toBe('https://abcdef.supabase.co/functions/v1/f')
  })

  test.each(['no key', 'no address'] as const)('does nothing and raises nothing with %s', async (missing) => {
    if (missing === 'no key') await sql`delete from vault.secrets`
    else await core.setSetting('functions_base_url', null)
    await core.trackWorkerFunction('f')
    expect(await sql`select * from pgflow.ensure_workers()`).toHaveLength(0)
    expect(await functionRow('f')).toMatchObject({ last_invoked_at: null })
  })

  test('in the released local mode pings every enabled function at every tick, without a key', async () => {
    await core.setSetting('functions_base_url', null)
    await core.setSetting('local', 'on')
    await sql`delete from vault.secrets`
    await core.trackWorkerFunction('f')
    await worker('f')
    await tick()
    await sql`select * from pgflow.ensure_workers()`
    const sent = await pings()
    expect(sent.map((ping) => ping.url)).toEqual(Array.from({ length: 2 }, () => 'http://kong:8000/functions/v1/f'))
    expect(sent[0]!.headers).toEqual({ 'Content-Type': 'application/json' })
  })

  test('with a base URL keeps debounce and liveness also where the database is local', async () => {
    await core.setSetting('local', 'on')
    await worker('f')
    expect(await tick()).toEqual([])
  })

  test('pings again only after the debounce', async () => {
    await core.trackWorkerFunction('f')
    expect([await tick(), await tick()]).toEqual([['f'], []])
    await invokedAgo('f', '5 s')
    expect(await tick()).toEqual([])
    await invokedAgo('f', '7 s')
    expect(await tick()).toEqual(['f'])
  })

  test('does not ping a function that has a live worker', async () => {
    await worker('f')
    expect(await tick()).toEqual([])
  })

  test.each([
    ['11 s', '6 s', []],
    ['13 s', '6 s', ['f']],
    ['25 s', '30 s', []],
  ])(
    'counts a worker that was last heard of %s ago, with a debounce of %s, as it should',
    async (ago, debounce, pinged) => {
      const workerId = await worker('f')
      await silentFor(workerId, ago)
      await sql`update pgflow.worker_functions set debounce = ${debounce}::interval`
      expect(await tick()).toEqual(pinged)
    },
  )

  test('replaces a worker that stopped or retired at once, without waiting for the debounce', async () => {
    await core.trackWorkerFunction('f')
    await core.trackWorkerFunction('g')
    expect(await tick()).toEqual(['f', 'g'])
    await core.markWorkerStopped(await worker('f'))
    await core.deprecateWorker(await worker('g'))
    expect(await tick()).toEqual(['f', 'g'])
    expect(await tick()).toEqual([])
  })

  test('does not ping for a retired worker while its successor lives', async () => {
    await core.deprecateWorker(await worker('f'))
    await worker('f')
    expect(await tick()).toEqual([])
  })

  test('never pings a disabled function or a process', async () => {
    await core.trackWorkerFunction('off')
    await core.trackWorkerFunction('process', 'process')
    await sql`update pgflow.worker_functions set enabled = false where function_name = 'off'`
    expect(await tick()).toEqual([])
  })

  test('pings a function whose start fails less and less, up to every 5 min', async () => {
    await core.trackWorkerFunction('f')
    const waits: number[] = []
    for (let failures = 1; failures <= 8; failures++) {
      await core.reportStartFailure('f', 'FlowShapeMismatchError')
      let seconds = 0
      for (const candidate of [0, 7, 13, 25, 49, 97, 193, 301]) {
        await sql`update pgflow.worker_functions set last_invoked_at = null, last_error_at = now() - make_interval(secs => ${candidate})`
        if ((await tick()).length === 1) {
          seconds = candidate
          break
        }
      }
      waits.push(seconds)
    }
    expect(waits).toEqual([7, 13, 25, 49, 97, 193, 301, 301])
  })

  test('pings as usual once a worker has registered after failed starts', async () => {
    await core.trackWorkerFunction('f')
    await core.reportStartFailure('f', 'no')
    expect(await functionRow('f')).toMatchObject({ failed_starts: 1, last_error: 'no' })
    await core.markWorkerStopped(await worker('f'))
    expect(await functionRow('f')).toMatchObject({ failed_starts: 0, last_error: null, last_error_at: null })
    expect(await tick()).toEqual(['f'])
  })

  test('called ten times at once pings once', async () => {
    await core.trackWorkerFunction('slowly')
    const many = database.connect({ connections: 10 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => many`select * from pgflow.ensure_workers()`))
    await many.end()
    expect(answers.flat()).toHaveLength(1)
    expect(await pings()).toHaveLength(1)
  })

  test.each([
    ['raises', 'ping: pg_net is down'],
    ['silent', null],
  ])('is not held up by a function whose ping %s, and does not count it as invoked', async (bad, error) => {
    for (const name of ['a', bad, 'z']) await core.trackWorkerFunction(name)
    expect(await sql`select function_name, invoked from pgflow.ensure_workers()`).toEqual([
      { function_name: 'a', invoked: true },
      { function_name: bad, invoked: false },
      { function_name: 'z', invoked: true },
    ])
    expect(await functionRow(bad)).toMatchObject({ last_invoked_at: null, last_error: error })
    expect((await functionRow('a'))!.last_invoked_at).not.toBeNull()
  })

  test('sends a new secret key as apikey only, since it is no JWT', async () => {
    await sql`delete from vault.secrets`
    await secret('supabase_service_role_key', 'sb_secret_abc')
    await core.trackWorkerFunction('f')
    await tick()
    expect((await pings())[0]!.headers).toEqual({ 'Content-Type': 'application/json', apikey: 'sb_secret_abc' })
  })

  test('takes the white space off a secret that a paste brought', async () => {
    await secret('pgflow_auth_secret', ' dedicated\n')
    await core.trackWorkerFunction('f')
    await tick()
    expect((await pings())[0]!.headers).toMatchObject({ apikey: 'dedicated' })
  })

  test('makes nobody wait while a ping hangs: others are pinged, fenced, registered and heard', async () => {
    for (const name of ['free', 'hangs']) await core.trackWorkerFunction(name)
    const beating = await worker('beating')
    const other = database.connect({ connections: 1 })
    const holder = database.connect({ connections: 1 })
    await holder`select pg_advisory_lock(77)`
    await sql`update pgflow.worker_functions set enabled = false where function_name = 'free'`
    const hanging = other`select * from pgflow.ensure_workers()`.execute()
    while ((await sql`select from pg_locks where locktype = 'advisory' and objid = 77 and not granted`).length === 0) {}
    await sql`update pgflow.worker_functions set enabled = true where function_name = 'free'`

    expect(await sql`select function_name, invoked from pgflow.ensure_workers()`).toEqual([
      { function_name: 'free', invoked: true },
    ])
    expect(await core.heartbeat(beating)).toBe('running')
    await worker('hangs')
    await sql`select pgflow.fence_worker_functions('{hangs}', 'test')`
    await holder`select pg_advisory_unlock(77)`
    await hanging
  })

  test('gives up where pg_net is locked, keeps the reason, and does not wait once per function', async () => {
    for (const name of ['a', 'b', 'c']) await core.trackWorkerFunction(name)
    const holder = database.connect({ connections: 1 })
    await holder.begin(async (tx) => {
      await tx`lock table public.pings`
      expect(await sql`select function_name, invoked from pgflow.ensure_workers()`).toEqual([
        { function_name: 'a', invoked: false },
      ])
    })
    expect(await functionRow('a')).toMatchObject({
      last_invoked_at: null,
      last_error: expect.stringContaining('lock timeout'),
    })
    expect(await tick()).toEqual(['a', 'b', 'c'])
  })

  test('survives a database without pg_net', async () => {
    await core.trackWorkerFunction('f')
    await inRolledBack(sql, async (tx) => {
      await tx`drop extension pg_net cascade`
      expect(await tx`select function_name, invoked from pgflow.ensure_workers()`).toEqual([
        { function_name: 'f', invoked: false },
      ])
    })
  })

  test('takes the next key where the Vault cannot decrypt one, and the status names that one with the way out', async () => {
    await secret('supabase_service_role_key', 'eyJ.service.role')
    await core.trackWorkerFunction('f')
    await undecryptable('pgflow_auth_secret')
    expect(await tick()).toEqual(['f'])
    expect((await pings())[0]!.headers).toMatchObject({ apikey: 'eyJ.service.role' })
    const [status] = await sql<[{ is_ready: boolean; missing: string[]; hint: string }]>`
      select * from pgflow.ensure_workers_status`
    expect(status.is_ready).toBe(false)
    expect(status.missing).toContain('Vault secret pgflow_auth_secret: it is there and cannot be decrypted')
    expect(status.hint).toContain(
      `select vault.update_secret((select id from vault.secrets where name = 'pgflow_auth_secret'), '<its value>')`,
    )
  })

  test('does nothing and raises nothing in a database without Vault', async () => {
    await core.trackWorkerFunction('f')
    await inRolledBack(database.as('supabase_admin', { connections: 1 }), async (tx) => {
      await tx`alter schema vault rename to gone`
      expect(await tx`select * from pgflow.ensure_workers()`).toHaveLength(0)
    })
  })
})

describe('a function without a live worker whose last ping', () => {
  const answer = (fields: { status_code?: number; content?: string; error_msg?: string; timed_out?: boolean }) => sql`
    insert into net._http_response (id, status_code, content, error_msg, timed_out, created)
    select max(id), ${fields.status_code ?? null}, ${fields.content ?? null}, ${fields.error_msg ?? null},
           ${fields.timed_out ?? false}, now() - interval '7 s'
    from public.pings`
  /** Pinged 7 s ago, and answered so. */
  const pingedAndAnswered = async (fields: Parameters<typeof answer>[0]) => {
    await core.trackWorkerFunction('f')
    await tick()
    await answer(fields)
    await ago('7 s')
  }
  const ago = (interval: string) => sql`
    update pgflow.worker_functions set
      last_invoked_at = now() - ${interval}::interval, start_awaited_since = now() - ${interval}::interval`

  test.each([
    [{ status_code: 404, content: 'Function not found' }, 'The ping was answered with status 404: Function not found'],
    [{ status_code: 401, content: '' }, 'The ping was answered with status 401'],
    [{ status_code: 302, content: '<p>\n\tMoved</p>\n' }, 'The ping was answered with status 302: <p> Moved</p>'],
    [{ error_msg: "Couldn't connect to server" }, "The ping was not answered: Couldn't connect to server"],
  ])('was answered with %o counts as a failed start with that error', async (fields, error) => {
    await pingedAndAnswered(fields)
    await tick()
    expect(await functionRow('f')).toMatchObject({ failed_starts: 1, last_error: error })
    expect((await functionRow('f'))!.last_error_at).not.toBeNull()
  })

  test('was answered at length keeps the start of it, and nothing that looks like a secret', async () => {
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.c2lnbmF0dXJl'
    const content = `you sent dedicated and ${jwt}, sb_secret_abc123; no postgres://me:hunter2@host/db ${'x'.repeat(5000)}`
    await pingedAndAnswered({ status_code: 500, content })
    await tick()
    const { last_error: error } = (await functionRow('f'))!
    expect(error).toContain('you sent [secret] and [secret], [secret]; no postgres://[secret]@host/db xxx')
    expect(error.length).toBeLessThan(350)
    for (const secret of ['dedicated', 'eyJ', 'c2ln', 'abc123', 'hunter2']) expect(error).not.toContain(secret)
  })

  test('failed is pinged as usual once a worker has registered', async () => {
    await pingedAndAnswered({ status_code: 503, content: 'BOOT_ERROR' })
    expect(await tick()).toEqual(['f'])
    expect(await functionRow('f')).toMatchObject({ failed_starts: 1 })
    await core.markWorkerStopped(await worker('f'))
    expect(await functionRow('f')).toMatchObject({ failed_starts: 0, last_error: null })
    expect(await tick()).toEqual(['f'])
  })

  test('reported its failure itself is counted once', async () => {
    await pingedAndAnswered({ status_code: 500, content: '{"status":"failed"}' })
    await core.reportStartFailure('f', 'FlowShapeMismatchError')
    await tick()
    expect(await functionRow('f')).toMatchObject({ failed_starts: 1, last_error: 'FlowShapeMismatchError' })
  })

  test('lost its answer in a crash is not judged by the answer to another request, which has its id now', async () => {
    const persistence = await sql`
      select distinct relpersistence as kind from pg_class
      where oid in ('pgflow.awaited_pings'::regclass, 'net._http_response'::regclass, 'net.http_request_queue'::regclass)`
    expect(persistence).toEqual([{ kind: 'u' }])
    await core.trackWorkerFunction('f')
    await tick()
    // All that a crash does to unlogged tables.
    await sql`truncate pgflow.awaited_pings`
    await answer({ status_code: 500, content: 'from a webhook of the application' })
    await ago('7 s')
    expect(await tick()).toEqual(['f'])
    expect(await functionRow('f')).toMatchObject({ failed_starts: 0, last_error: null })
    await ago('31 s')
    await tick()
    expect(await functionRow('f')).toMatchObject({
      last_error: 'No worker has registered here within 30 s of the ping, and no answer to it is known',
    })
  })

  test('reached an isolate that takes nothing more, while it backs off, is looked at once', async () => {
    await core.trackWorkerFunction('f')
    await tick()
    await sql`update pgflow.worker_functions set failed_starts = 9, last_error = 'old', last_error_at = now() - interval '1 s'`
    const looks = () => sql`select from pgflow._functions_to_ping(false)`
    await sql`
      update pgflow.worker_functions set last_invoked_at = now() - interval '7 s', start_awaited_since = now() - interval '7 s'`
    await answer({ status_code: 503, content: '{"status":"stopping"}' })
    expect(await looks()).toHaveLength(1)
    expect(await tick()).toEqual([])
    expect(await looks()).toHaveLength(0)
    expect(await functionRow('f')).toMatchObject({ failed_starts: 9, last_error: 'old' })
    await invokedAgo('f', '301 s')
    await sql`update pgflow.worker_functions set last_error_at = now() - interval '301 s'`
    expect(await tick()).toEqual(['f'])
  })

  test('failed is counted once by ten calls at once', async () => {
    await pingedAndAnswered({ status_code: 503, content: 'BOOT_ERROR' })
    const many = database.connect({ connections: 10 })
    await Promise.all(Array.from({ length: 10 }, () => many`select * from pgflow.ensure_workers()`))
    await many.end()
    expect(await functionRow('f')).toMatchObject({ failed_starts: 1 })
  })

  test.each([
    ['an isolate that takes nothing more', { status_code: 503, content: '{"status":"stopping","workerId":null}' }],
    ['a start that goes on', { status_code: 200, content: '{"status":"started"}' }],
    ['a start that takes longer than the ping', { error_msg: 'Timeout of 10000 ms reached.', timed_out: true }],
  ])('reached %s did not fail', async (_what, fields) => {
    await pingedAndAnswered(fields)
    expect(await tick()).toEqual(['f'])
    expect(await functionRow('f')).toMatchObject({ failed_starts: 0, last_error: null })
  })

  test('sounded good but brought no worker within 30 s failed, and says what was answered', async () => {
    await pingedAndAnswered({ status_code: 200, content: '{"status":"started"}' })
    expect(await tick()).toEqual(['f'])
    await ago('31 s')
    await tick()
    expect(await functionRow('f')).toMatchObject({
      failed_starts: 1,
      last_error:
        'No worker has registered here within 30 s of the ping, which was answered with status 200: {"status":"started"}',
    })
  })

  test.each(['pruned', 'never to be seen'])(
    'has an answer that is %s failed when no worker came within 30 s',
    async (how) => {
      await core.trackWorkerFunction('f')
      await tick()
      if (how !== 'pruned') await sql`alter table net._http_response rename to gone`
      try {
        await ago('29 s')
        expect(await tick()).toEqual(['f'])
        expect(await functionRow('f')).toMatchObject({ failed_starts: 0 })
        await ago('31 s')
        await tick()
      } finally {
        if (how !== 'pruned') await sql`alter table net.gone rename to _http_response`
      }
      expect(await functionRow('f')).toMatchObject({
        failed_starts: 1,
        last_error: 'No worker has registered here within 30 s of the ping, and no answer to it is known',
      })
    },
  )

  test('failed while a worker that was thought dead went on did not fail', async () => {
    const workerId = await worker('f')
    await silentFor(workerId, '20 s')
    await pingedAndAnswered({ error_msg: 'Timeout of 10000 ms reached.' })
    await core.heartbeat(workerId)
    await ago('40 s')
    await sql`update pgflow.workers set last_heartbeat_at = now() - interval '20 s'`
    expect(await tick()).toEqual(['f'])
    expect(await functionRow('f')).toMatchObject({ failed_starts: 0, last_error: null })
  })

  test('failed holds nothing back once the worker that was thought dead is heard of again', async () => {
    const workerId = await worker('f')
    await silentFor(workerId, '20 s')
    await pingedAndAnswered({ status_code: 503, content: 'BOOT_ERROR' })
    expect(await tick()).toEqual(['f'])
    await answer({ status_code: 503, content: 'BOOT_ERROR' })
    await ago('7 s')
    expect(await tick()).toEqual([])
    expect(await functionRow('f')).toMatchObject({ failed_starts: 2 })
    await core.heartbeat(workerId)
    expect(await tick()).toEqual([])
    await core.markWorkerStopped(workerId)
    await invokedAgo('f', '7 s')
    expect(await tick()).toEqual(['f'])
  })

  test('failed is not blamed on a grouped function of which another worker lives', async () => {
    const gone = randomUUID()
    await core.registerWorker({ workerId: gone, queueName: 'qa', functionName: 'f' })
    await core.registerWorker({ workerId: randomUUID(), queueName: 'qb', functionName: 'f' })
    await core.markWorkerStopped(gone)
    expect(await tick()).toEqual(['f'])
    await answer({ status_code: 503, content: 'busy' })
    await invokedAgo('f', '7 s')
    expect(await tick()).toEqual(['f'])
    expect(await functionRow('f')).toMatchObject({ failed_starts: 0 })
  })

  test('failed is tried again at once when its fence is lifted or it is enabled', async () => {
    for (const restore of ['restore_worker_functions', 'enable_worker_functions']) {
      await pingedAndAnswered({ status_code: 503, content: 'BOOT_ERROR' })
      await sql`update pgflow.worker_functions set failed_starts = 9`
      expect(await tick()).toEqual([])
      await sql`select pgflow.fence_worker_functions('{f}', 'deployment')`
      await sql`select ${sql(`pgflow.${restore}`)}('{f}')`
      await sql`select pgflow.restore_worker_functions('{f}')`
      expect(await tick()).toEqual(['f'])
      await sql`delete from pgflow.worker_functions`
    }
  })
})

describe('second by second on a clock of its own, a function', () => {
  const START = Date.UTC(2030, 0, 1)
  let clock: Sql
  let second = 0
  const at = async (seconds: number) => {
    second = seconds
    await clock`select set_config('pgflow.test_now', ${new Date(START + seconds * 1000).toISOString()}, false)`
  }
  const onClock = () => new StarflowSql(clock)
  /** One tick of cron, which is every second: the request by which the function was pinged, if it was. */
  const ping = async (): Promise<string | undefined> =>
    (await clock`select request_id from pgflow.ensure_workers() e where e.invoked`)[0]?.request_id
  const pinged = async () => (await ping()) !== undefined
  const answered = (requestId: string, status: number, content: string) => clock`
    insert into net._http_response (id, status_code, content, created)
    values (${requestId}, ${status}, ${content}, pgflow.clock())`
  const boot = async () => {
    const workerId = randomUUID()
    await onClock().registerWorker({ workerId, queueName: 'f', functionName: 'f', startMode: 'http' })
    return workerId
  }

  beforeEach(async () => {
    await core.setSetting('test_clock', 'on')
    await core.trackWorkerFunction('f')
    clock = database.connect({ connections: 1 })
    await at(0)
    return async () => {
      await clock.end()
      await core.setSetting('test_clock', null)
    }
  })

  test('whose worker is killed 20 times is pinged within 13 s each time, once where that brings one up, else once per debounce', async () => {
    const random = randomFrom(20)
    const pingsAt: number[] = []
    let worker: string | undefined
    let [heardAt, diesAt, deaths, silentSince, lostBoots] = [0, 0, 0, 0, 0]
    const waits: number[] = []
    while (deaths < 20 || worker === undefined) {
      await at(second + 1)
      if (worker !== undefined && second >= diesAt) {
        worker = undefined
        deaths += 1
        silentSince = heardAt
      } else if (worker !== undefined && second - heardAt >= 5) {
        await onClock().heartbeat(worker)
        heardAt = second
      }
      if (!(await pinged())) continue
      expect(worker, `second ${second}: no ping while a worker lives`).toBeUndefined()
      pingsAt.push(second)
      // Every fourth isolate dies before it has registered.
      if (random() < 0.25) {
        lostBoots += 1
        continue
      }
      if (deaths > 0) waits.push(second - silentSince)
      worker = await boot()
      heardAt = second
      diesAt = second + 1 + Math.floor(random() * 30)
    }
    expect(pingsAt).toHaveLength(1 + 20 + lostBoots)
    expect(lostBoots).toBeGreaterThan(2)
    for (const [index, ping] of pingsAt.entries()) expect(ping - (pingsAt[index - 1] ?? -6)).toBeGreaterThanOrEqual(6)
    // 12 s since it was last heard of, and up to 1 s until cron comes by; 6 s and 1 s more for each isolate that was lost.
    expect(Math.min(...waits)).toBeLessThanOrEqual(13)
    expect(Math.max(...waits)).toBeLessThanOrEqual(13 + 7 * lostBoots)
    expect(waits.filter((wait) => wait > 13).length).toBeLessThanOrEqual(lostBoots)
  })

  test('whose retired worker still answers is pinged once at once, then once per debounce, until another one is there', async () => {
    await onClock().deprecateWorker(await boot())
    const pingsAt: number[] = []
    while (second < 60) {
      await at(second + 1)
      const requestId = await ping()
      if (requestId === undefined) continue
      pingsAt.push(second)
      await answered(requestId, 503, '{"status":"stopping"}')
    }
    expect(pingsAt).toEqual([1, 8, 15, 22, 29, 36, 43, 50, 57])
    await boot()
    await at(65)
    expect(await pinged()).toBe(false)
  })

  test('that does not boot is pinged less and less, up to every 5 min, though nobody reports it', async () => {
    const pingsAt: number[] = []
    while (second < 1300) {
      await at(second + 1)
      const requestId = await ping()
      if (requestId === undefined) continue
      pingsAt.push(second)
      await answered(requestId, 503, 'BOOT_ERROR')
    }
    const waits = pingsAt.map((ping, index) => ping - (pingsAt[index - 1] ?? 0))
    expect(waits).toEqual([1, 7, 13, 25, 49, 97, 193, 301, 301, 301])
  })

  test('that nobody has pinged for ten minutes, since cron was away, is pinged once', async () => {
    await boot()
    await at(600)
    expect([await pinged(), await pinged()]).toEqual([true, false])
  })

  test('is pinged although the clock has gone back 2 s since', async () => {
    expect(await pinged()).toBe(true)
    await at(-2)
    await onClock().markWorkerStopped(await boot())
    await at(7)
    expect(await pinged()).toBe(true)
  })
})

describe('a grouped function', () => {
  const grouped = async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    await core.registerWorker({ workerId: a, queueName: 'qa', functionName: 'group' })
    await core.registerWorker({ workerId: b, queueName: 'qb', functionName: 'group' })
    return { a, b }
  }
  const queueRows = () =>
    sql`select queue_name, enabled from pgflow.worker_function_queues where function_name = 'group' order by queue_name`

  test('is known with all its queues, and not pinged while each has a live worker', async () => {
    await grouped()
    expect(await queueRows()).toMatchObject([{ queue_name: 'qa' }, { queue_name: 'qb' }])
    expect(await tick()).toEqual([])
  })

  test.each(['stopped', 'killed'])(
    'is pinged when a worker of one queue was %s although the other lives',
    async (how) => {
      const { a } = await grouped()
      if (how === 'stopped') await core.markWorkerStopped(a)
      else await silentFor(a, '13 s')
      expect(await tick()).toEqual(['group'])
      expect(await tick()).toEqual([])
      await core.registerWorker({ workerId: randomUUID(), queueName: 'qa', functionName: 'group' })
      await invokedAgo('group', '7 s')
      expect(await tick()).toEqual([])
    },
  )

  test('is not pinged for ever for a queue that it does not host any longer', async () => {
    const { a } = await grouped()
    await core.markWorkerStopped(a)
    await sql`update pgflow.worker_function_queues set served_at = now() - interval '11 minutes'`
    expect(await tick()).toEqual([])
  })

  test('whose one queue was halted works on with the other, and is not pinged for the halted one', async () => {
    const { a, b } = await grouped()
    await sql`update pgflow.worker_function_queues set enabled = false where queue_name = 'qa'`
    expect([await core.heartbeat(a), await core.heartbeat(b)]).toEqual(['fenced', 'running'])
    await core.markWorkerStopped(a)
    expect(await tick()).toEqual([])
    await core.markWorkerStopped(b)
    expect(await tick()).toEqual(['group'])
    await sql`update pgflow.worker_function_queues set enabled = false`
    await invokedAgo('group', '7 s')
    expect(await tick()).toEqual([])
    await sql`select * from pgflow.enable_worker_functions('{group}')`
    expect(await tick()).toEqual(['group'])
  })
})

describe('the view ensure_workers_status', () => {
  const status = async () => (await sql`select * from pgflow.ensure_workers_status`)[0]!

  test('says what is there and what is missing, with the way out and without any secret', async () => {
    expect(await status()).toMatchObject({
      is_ready: false,
      functions_url: BASE_URL,
      url_source: 'setting functions_base_url',
      key_source: 'Vault secret pgflow_auth_secret',
      key_kind: 'shared secret',
      missing: ['pg_cron'],
      hint: expect.stringContaining('create extension pg_cron'),
    })
    await sql`delete from vault.secrets`
    await core.setSetting('functions_base_url', null)
    const bare = await status()
    expect(bare).toMatchObject({ functions_url: null, missing: ['address of the functions', 'key', 'pg_cron'] })
    expect(bare.hint).toContain('supabase_project_id')
    expect(bare.hint).toContain('pgflow_auth_secret')
  })

  test.each([
    ['sb_secret_hunter2', 'secret key'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.hunter2', 'JWT'],
    ['hunter2', 'shared secret'],
  ])('tells the kind of a key and never the key: %s', async (key, kind) => {
    await sql`delete from vault.secrets`
    await secret('supabase_service_role_key', key)
    await core.setSetting('functions_base_url', 'https://ana:hunter2@functions.test/v1')
    const row = await status()
    expect(row).toMatchObject({ key_kind: kind, functions_url: 'https://functions.test/v1' })
    expect(JSON.stringify(row)).not.toContain('hunter2')
  })

  test('is ready when all is there', async () => {
    await inRolledBack(sql, async (tx) => {
      await tx`create extension pg_cron`
      expect((await tx`select missing from pgflow.ensure_workers_status`)[0]).toEqual({ missing: ['cron job'] })
      await tx`select pgflow.setup_ensure_workers_cron()`
      expect((await tx`select * from pgflow.ensure_workers_status`)[0]).toMatchObject({
        is_ready: true,
        missing: [],
        hint: null,
      })
    })
  })
})

describe('report_start_failure', () => {
  test('makes no row for a function that nobody has tracked', async () => {
    await core.reportStartFailure('unknown', 'no')
    expect(await functionRow('unknown')).toBeUndefined()
  })

  test('changes nothing of an existing row but its error and its count', async () => {
    await core.trackWorkerFunction('f')
    await sql`update pgflow.worker_functions set enabled = false, debounce = '9 s'`
    const before = await functionRow('f')
    await core.reportStartFailure('f', 'x'.repeat(5000))
    const after = await functionRow('f')
    expect(after).toEqual({
      ...before,
      last_error: 'x'.repeat(2000),
      last_error_at: after!.last_error_at,
      failed_starts: 1,
    })
  })
})

test.each([null, '', ' '])('a worker function that is called %j is refused, with its worker', async (name) => {
  const refused = { code: 'SF001', message: 'A worker function needs a name.' }
  expect(await refusal(sql`select pgflow.track_worker_function(${name})`)).toMatchObject(refused)
  expect(await refusal(sql`select pgflow.register_worker(${randomUUID()}, 'orders', ${name})`)).toMatchObject(refused)
})

test('track_worker_function changes the start mode of a known function and nothing else', async () => {
  await core.trackWorkerFunction('f')
  await sql`update pgflow.worker_functions set enabled = false, debounce = '9 s'`
  await core.trackWorkerFunction('f', 'process')
  expect(await functionRow('f')).toMatchObject({ start_mode: 'process', enabled: false })
})

test('a start mode that does not exist is refused', async () => {
  expect((await refusal(core.trackWorkerFunction('f', 'telepathy' as 'http'))).message).toContain(
    'worker_functions_start_mode_check',
  )
})
