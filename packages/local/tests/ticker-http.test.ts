import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { startReceiver, startTicker } from './support/ticker.ts'

const database = await testDatabase({ template: 'platform' })
const { sql } = database
const admin = database.as('supabase_admin')

beforeAll(async () => {
  await sql`create extension pg_net`
})
afterEach(async () => {
  await admin`truncate net.http_request_queue, net._http_response`
})

const POLL = { timeout: 60_000, interval: 20 }
const SELDOM = { intervalMs: 60_000 }
const responses = () => sql`select * from net._http_response order by id`
const listenerPid = async (): Promise<number | undefined> =>
  (await admin`select pid from pg_stat_activity where datname = ${database.name} and query ilike 'listen%'`)[0]?.pid
const isListening = (notOn?: number) =>
  vi.waitUntil(async () => ![undefined, notOn].includes(await listenerPid()), POLL)

test('http_post is sent at once after its transaction commits, and its answer is written', async () => {
  const { url, received } = await startReceiver((_request, response) =>
    response.writeHead(201, { 'content-type': 'text/plain', 'x-more': 'yes' }).end('done\u0000'),
  )
  startTicker(database.name, SELDOM)
  await isListening()
  await sql.begin(async (transaction) => {
    await transaction`select net.http_post(${`${url}/ping`}, ${transaction.json({ a: 1 })}, headers => ${transaction.json({ 'x-mine': '1' })})`
    expect(received).toEqual([])
  })
  await vi.waitUntil(async () => (await responses()).length === 1, POLL)
  expect(received).toMatchObject([
    { path: '/ping', body: '{"a": 1}', headers: { 'content-type': 'application/json', 'x-mine': '1' } },
  ])
  expect(await responses()).toMatchObject([
    { status_code: 201, content_type: 'text/plain', content: 'done', timed_out: false, error_msg: null },
  ])
  expect((await responses())[0]!.headers).toMatchObject({ 'x-more': 'yes' })
  expect(await sql`select from net.http_request_queue`).toHaveLength(0)
})

test('a request whose transaction is rolled back is never sent', async () => {
  const { url, received } = await startReceiver()
  startTicker(database.name, SELDOM)
  await isListening()
  await expect(
    sql.begin(async (transaction) => {
      await transaction`select net.http_post(${`${url}/rolled-back`})`
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  await sql`select net.http_post(${`${url}/committed`})`
  await vi.waitUntil(async () => (await responses()).length === 1, POLL)
  expect(received.map(({ path }) => path)).toEqual(['/committed'])
})

test('a request that hangs holds up no other one, and ends at its own timeout', async () => {
  const { url } = await startReceiver((request, response) => {
    if (request.url !== '/hang') response.end('fine')
  })
  const { log } = startTicker(database.name, SELDOM)
  await isListening()
  const [{ id: hanging }] =
    (await sql`select net.http_get(${`${url}/hang`}, timeout_milliseconds => 700)::int as id`) as unknown as [
      { id: number },
    ]
  const [{ id: quick }] = (await sql`select net.http_get(${`${url}/quick`})::int as id`) as unknown as [{ id: number }]
  await vi.waitUntil(async () => (await responses()).length === 1, POLL)
  expect(await responses()).toMatchObject([{ id: String(quick), status_code: 200 }])
  await vi.waitUntil(async () => (await responses()).length === 2, POLL)
  expect((await responses())[0]).toMatchObject({
    id: String(hanging),
    status_code: null,
    timed_out: true,
    error_msg: 'Timeout of 700 ms reached.',
  })
  expect(log.of('ticker.request_failed')).toMatchObject([{ requestId: String(hanging) }])
})

test('no more requests are open at once than allowed, and the others follow', async () => {
  const waiting: (() => void)[] = []
  const { url, received } = await startReceiver((_request, response) => void waiting.push(() => response.end('fine')))
  startTicker(database.name, { intervalMs: 50, maxConcurrentRequests: 2 })
  await sql`select net.http_get(${url}) from generate_series(1, 5)`
  await vi.waitUntil(() => received.length === 2, POLL)
  expect(await sql`select from net.http_request_queue`).toHaveLength(3)
  await vi.waitUntil(async () => {
    waiting.shift()?.()
    return (await responses()).length === 5
  }, POLL)
})

test('a request that cannot be sent gets an answer row with the reason', async () => {
  const { url } = await startReceiver()
  startTicker(database.name)
  await sql`select net.http_get('http://127.0.0.1:1/'), net.http_get('nonsense'), net.http_get(${url})`
  await vi.waitUntil(async () => (await responses()).length === 3, POLL)
  const [refused, nonsense, fine] = await responses()
  expect(refused!.error_msg).toMatch(/ECONNREFUSED|bad port/)
  expect(nonsense!.error_msg).toMatch(/URL/)
  expect(fine).toMatchObject({ status_code: 200, error_msg: null })
})

test('requests are sent again after the connection to the database was lost', async () => {
  const { url, received } = await startReceiver()
  startTicker(database.name, SELDOM)
  await isListening()
  const lost = await listenerPid()
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${database.name} and application_name = 'starflow ticker'`
  await isListening(lost)
  await sql`select net.http_get(${`${url}/after`})`
  await vi.waitUntil(() => received.some(({ path }) => path === '/after'), POLL)
})

test('stop breaks off open requests', async () => {
  const { url, received } = await startReceiver(() => {})
  const { ticker } = startTicker(database.name)
  await sql`select net.http_get(${url}, timeout_milliseconds => 600000)`
  await vi.waitUntil(() => received.length === 1, POLL)
  await ticker.stop()
})

test('a ticker on a database without the extensions waits for them', async () => {
  const { log } = startTicker(database.name, { intervalMs: 20 })
  await sql`drop extension pg_net cascade`
  const { url, received } = await startReceiver()
  await sql`create extension pg_net`
  await sql`select net.http_get(${url})`
  await vi.waitUntil(() => received.length === 1, POLL)
  expect(log.of('ticker.database_lost')).toEqual([])
})
