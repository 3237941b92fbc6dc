import { describeError, isStarflowError } from '@starflow/errors'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type Database, type DatabaseOptions, isConnectionLoss, openDatabase, parseDatabaseUrl } from '../src/index.ts'

const database = await testDatabase()
const proxy = await flakyProxy(database.url)
const opened: Database[] = []
afterEach(async () => {
  proxy.restore()
  await Promise.all(opened.splice(0).map((sql) => sql.end({ timeout: 0 })))
})
afterAll(() => proxy.close())

/** A second: a machine under load answers `select 1` within it, and a test need not wait long. */
const LIMIT_MS = 1_000

function open(options: Partial<DatabaseOptions> = {}): Database {
  const sql = openDatabase(parseDatabaseUrl(proxy.url), { applicationName: 'database.test', ...options })
  opened.push(sql)
  return sql
}

const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error: unknown) => error,
  )
const backends = async (name: string) =>
  (await database.sql`select from pg_stat_activity where application_name = ${name}`).length

describe.each([true, false])('values and rows, prepared: %s', (prepare) => {
  const ID = '00000000-0000-4000-8000-00000000000a'

  test.each<[string, unknown]>([
    ['text', 'a "b" \\ $1'],
    ['bigint', '9007199254740993'],
    ['numeric', '0.1'],
    ['integer', -2],
    ['double precision', 0.5],
    ['boolean', true],
    ['uuid', ID],
    ['timestamptz', new Date(Date.UTC(2030, 0, 1, 12))],
    ['interval', '00:00:01'],
    ['text', null],
    ['text[]', ['a', 'b "c"', '', null]],
    ['uuid[]', [ID]],
    ['integer[]', [1, -2]],
    ['bigint[]', ['9007199254740993']],
    ['numeric[]', ['0.1']],
    ['boolean[]', [true, false]],
  ])('%s comes back as it was given: %j', async (type, value) => {
    const sql = open({ prepare })
    expect(await sql.unsafe(`select $1::${type} as value`, [value as never])).toEqual([{ value }])
  })

  test('json is given as text and parsed when it comes, in arrays too', async () => {
    const [row] = await open({ prepare })`
      select ${'{"a": [1]}'}::text::jsonb as one, array[${'{"b": 2}'}::text::jsonb, null] as many,
             array['2030-01-01T12:00:00Z'::timestamptz] as times, null::jsonb as nothing`
    expect(row).toEqual({
      ...{ one: { a: [1] }, many: [{ b: 2 }, null], times: [new Date(Date.UTC(2030, 0, 1, 12))], nothing: null },
    })
  })

  test('an error of the server keeps its parts and costs no connection', async () => {
    const sql = open({ prepare })
    const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`
    const error = await outcome(sql`select pgflow.start_flow('missing', '{}')`)
    expect(error).toMatchObject({ code: 'SF201', severity: 'ERROR' })
    expect(isConnectionLoss(error)).toBe(false)
    expect(await sql`select pg_backend_pid() as pid`).toEqual([{ pid }])
  })

  test('a transaction is kept, or rolled back when its work or one of its statements fails', async () => {
    const sql = open({ prepare, connections: 2 })
    await database.sql`create table if not exists kept (n int)`
    await database.sql`truncate kept`
    expect(
      await sql.begin((tx) => Promise.all([tx`insert into kept values (1) returning n`, tx`select 2 as n`])),
    ).toEqual([[{ n: 1 }], [{ n: 2 }]])
    const fails = sql.begin(async (tx) => {
      await tx`insert into kept values (2)`
      throw new Error('no')
    })
    await expect(fails).rejects.toThrow('no')
    const swallowed = sql.begin(async (tx) => {
      await tx`insert into kept values (3)`
      await tx`select 1 / 0`.catch(() => {})
    })
    await expect(swallowed).rejects.toThrow('division by zero')
    let leaked: ((strings: TemplateStringsArray) => Promise<unknown>) | undefined
    await sql.begin(async (tx) => {
      leaked = tx as typeof leaked
    })
    await expect(leaked!`select 1`).rejects.toThrow('over')
    expect(await sql`select n from kept`).toEqual([{ n: 1 }])
  })
})

test('a prepared statement whose table was changed is prepared again', async () => {
  const sql = open({ prepare: true })
  const read = () => sql`select * from changing`
  await database.sql`create table changing (a int)`
  await database.sql`insert into changing values (1)`
  expect(await read()).toEqual([{ a: 1 }])
  await database.sql`alter table changing add b text default 'x'`
  expect(await read()).toEqual([{ a: 1, b: 'x' }])
})

test('connections are made by parts: a password with reserved characters works', async () => {
  await database.as('supabase_admin')`create role reserved login password 'p@ss:/?#[]%25'`
  const url = new URL(proxy.url)
  const sql = openDatabase(parseDatabaseUrl(`postgres://reserved:p@ss:/?#[]%2525@${url.host}${url.pathname}`), {
    applicationName: 'reserved',
  })
  opened.push(sql)
  expect(await sql`select current_user as name`).toEqual([{ name: 'reserved' }])
})

describe.each([true, false])('a call ends, prepared: %s', (prepare) => {
  test('connections that freeze fail the call at its limit, and the next one is answered by a fresh one', async () => {
    const told: string[] = []
    const sql = open({ prepare, callTimeoutMs: LIMIT_MS, onTimeout: (error) => told.push(error.message) })
    await sql`select 1`
    proxy.freeze()
    const error = await outcome(sql`select 1`)
    expect(isStarflowError(error, 'SF418')).toBe(true)
    expect(isConnectionLoss(error)).toBe(true)
    expect(told).toEqual(['The database did not answer within 1 s.'])
    expect(await sql.within(60_000)`select 2 as n`).toEqual([{ n: 2 }])
  })

  test('those who wait behind a frozen call are served by the connection after it', async () => {
    const sql = open({ prepare, callTimeoutMs: LIMIT_MS })
    await sql`select 1`
    proxy.freeze()
    const frozen = outcome(sql`select 1`)
    const behind = sql.within(60_000)`select 2 as n`
    expect(isStarflowError(await frozen, 'SF418')).toBe(true)
    expect(await behind).toEqual([{ n: 2 }])
  })

  test('a network that is silent for new connections too is answered when it is back', async () => {
    const sql = open({ prepare, callTimeoutMs: LIMIT_MS, connectTimeoutMs: LIMIT_MS })
    proxy.goSilent()
    for (let n = 0; n < 2; n++) expect(isConnectionLoss(await outcome(sql`select 1`))).toBe(true)
    proxy.restore()
    // A connection within the limit, which a busy machine may take more than one attempt for.
    await expect.poll(() => outcome(sql.within(60_000)`select 2 as n`)).toBe('answered')
  })

  test('after forty resets of a client that asks in every turn of the loop, it still answers', async () => {
    const sql = open({ prepare })
    for (let reset = 0; reset < 40; reset++) {
      let isOver = false
      const asking = (async () => {
        while (!isOver) {
          await outcome(sql`select 1`)
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      await sql`select 1`.catch(() => {})
      proxy.reset()
      isOver = true
      await asking
      let answer: unknown
      do answer = await outcome(sql`select 2 as n`)
      while (answer !== 'answered' && isConnectionLoss(answer) && !isStarflowError(answer))
      expect(answer).toBe('answered')
    }
  })

  test('a transaction that loses its connection rejects, sends nothing more, and the next one works', async () => {
    const sql = open({ prepare, callTimeoutMs: LIMIT_MS })
    for (const lose of [() => proxy.reset(), () => proxy.freeze()]) {
      const lost = await outcome(
        sql.begin(async (tx) => {
          await tx`select 1`
          lose()
          await tx`select 2`.catch(() => {})
          await tx`select 3`
        }),
      )
      expect(isConnectionLoss(lost)).toBe(true)
      expect(await sql.within(60_000).begin((tx) => tx`select 4 as n`)).toEqual([{ n: 4 }])
    }
  })

  test('a connection that is lost while it has nothing to do harms nobody', async () => {
    const applicationName = `idle ${prepare}`
    const sql = open({ prepare, connections: 2, applicationName })
    await Promise.all([sql`select pg_sleep(0.05)`, sql`select pg_sleep(0.05)`])
    proxy.reset()
    await expect.poll(() => backends(applicationName), { timeout: 60_000 }).toBe(0)
    expect(await sql`select 2 as n`).toEqual([{ n: 2 }])
  })
})

test('on a direct connection Postgres gives up a slow call first, and the connection is kept', async () => {
  const sql = open({ prepare: true, callTimeoutMs: 5_000 })
  const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`
  const error = await outcome(sql`select pg_sleep(60)`)
  expect(describeError(error).message).toMatch('statement timeout')
  expect(await sql`select pg_backend_pid() as pid`).toEqual([{ pid }])
})

test('the end waits for calls under way, rejects those behind, and takes no longer than it is given', async () => {
  const sql = open()
  await sql`select 1`
  const [late, waiting] = [outcome(sql`select pg_sleep(0.1)`), outcome(sql`select 2`)]
  // By then the first one has the connection.
  await new Promise((resolve) => setImmediate(resolve))
  const ended = sql.end({ timeout: 60 })
  expect(await waiting).toMatchObject({ code: 'CONNECTION_ENDED' })
  await ended
  expect(await late).toBe('answered')
  expect(await outcome(sql`select 1`)).toMatchObject({ code: 'CONNECTION_ENDED' })

  const frozen = open({ applicationName: 'frozen' })
  await frozen`select 1`
  proxy.freeze()
  const lost = outcome(frozen`select 1`)
  await frozen.end({ timeout: 0 })
  expect(await lost).toMatchObject({ code: 'CONNECTION_ENDED' })
  const idle = open()
  await idle`select 1`
  proxy.freeze()
  await idle.end({ timeout: 0.1 })
})

test('at most as many connections are opened as there may be', async () => {
  const sql = open({ connections: 2, applicationName: 'two at most' })
  await Promise.all(Array.from({ length: 8 }, () => sql`select pg_sleep(0.02)`))
  expect(await backends('two at most')).toBe(2)
})

test('a listener hears again after its connection was lost', async () => {
  const sql = open()
  const heard: string[] = []
  let listening = 0
  const told = new EventTarget()
  const next = (event: string) => new Promise((resolve) => told.addEventListener(event, resolve, { once: true }))
  const first = next('message')
  const stop = await sql.listen('Some "channel"', {
    onMessage: (payload) => {
      heard.push(payload)
      told.dispatchEvent(new Event('message'))
    },
    onListening: () => {
      listening++
      told.dispatchEvent(new Event('listening'))
    },
  })
  await database.sql`select pg_notify('Some "channel"', 'one')`
  await first
  const again = next('listening')
  proxy.reset()
  await again
  const second = next('message')
  await database.sql`select pg_notify('Some "channel"', 'two')`
  await second
  stop()
  expect([heard, listening]).toEqual([['one', 'two'], 2])
})

test('a server without TLS is reached where TLS is only preferred, by calls at the same time and by listeners', async () => {
  const url = new URL(proxy.url)
  url.searchParams.set('sslmode', 'prefer')
  const sql = openDatabase(parseDatabaseUrl(url.href), { applicationName: 'prefers tls', connections: 3 })
  opened.push(sql)
  const heard: string[] = []
  const [one, two] = await Promise.all([
    sql`select 1 as n`,
    sql`select 2 as n`,
    sql.listen('prefers_tls', { onMessage: (payload) => heard.push(payload) }),
  ])
  expect([one, two]).toEqual([[{ n: 1 }], [{ n: 2 }]])
  await sql`select pg_notify('prefers_tls', 'hello')`
  while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(heard).toEqual(['hello'])
})

test('a session of ours reads dates and intervals whatever the database says', async () => {
  const { sql, name } = await testDatabase()
  await sql
    .unsafe(`alter database ${name} set datestyle = 'SQL, DMY'; alter database ${name} set intervalstyle = 'iso_8601'`)
    .simple()
  const url = new URL(proxy.url)
  url.pathname = `/${name}`
  const openAt = (prepare?: boolean) => {
    const own = openDatabase(parseDatabaseUrl(url.href), {
      applicationName: 'date style',
      ...(prepare === undefined ? {} : { prepare }),
    })
    opened.push(own)
    return own
  }
  for (const prepare of [true, false]) {
    expect(await openAt(prepare)`select '2026-12-01T00:01:26Z'::timestamptz as at, interval '1 s' as second`).toEqual([
      { at: new Date(Date.UTC(2026, 11, 1, 0, 1, 26)), second: '00:00:01' },
    ])
  }
  url.searchParams.set('pgbouncer', 'true')
  expect(await outcome(openAt()`select now() as at`)).toMatchObject({ code: 'SF423' })
})
