import { describe, expect, test } from 'vitest'
import { Gateway } from '../src/platform/gateway.ts'
import { DEFAULT_API_SETTINGS } from '../src/rest/api-settings.ts'
import { MAX_REST_BODY_BYTES, RestService } from '../src/rest/rest-service.ts'
import { apiGatewayOfFile, fixtureDatabase, KEYS, startApiGateway } from './support/api-gateway.ts'

const database = await fixtureDatabase()
const { sql } = database
const { request, url } = await apiGatewayOfFile(database)

describe('requests of browsers', () => {
  test('a page of any origin may ask, and may read what the answer tells', async () => {
    const preflight = await fetch(`${url}/rest/v1/orders`, {
      method: 'OPTIONS',
      headers: {
        origin: 'http://localhost:5173',
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'apikey,authorization,content-profile,prefer,x-client-info',
      },
    })
    expect(preflight.status).toBe(200)
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'apikey,authorization,content-profile,prefer,x-client-info',
      'access-control-allow-methods': expect.stringContaining('PATCH'),
    })
    for (const answer of [await request('orders'), await request('nope'), await request('orders', { key: 'wrong' })]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-expose-headers')).toContain('Content-Range')
    }
  })
})

describe('bodies', () => {
  test('a body of 2 MB is stored, digit for digit', async () => {
    const big = 'é'.repeat(1024 * 1024)
    const written = await request('tags', { method: 'POST', body: JSON.stringify({ slug: 'big', 'odd "name': big }) })
    expect(written.status).toBe(201)
    const [row] = await sql`select "odd ""name" as text from shop.tags where slug = 'big'`
    expect(row?.text).toBe(big)
    expect((await request('tags?slug=eq.big')).json[0]['odd "name']).toBe(big)
  })

  test('a body above the limit is refused, 413, and the connection goes on', async () => {
    const body = JSON.stringify({ slug: 'x'.repeat(MAX_REST_BODY_BYTES) })
    const refused = await request('tags', { method: 'POST', body })
    expect([refused.status, refused.json.code]).toEqual([413, 'PGRST102'])
    expect((await request('tags?limit=1')).status).toBe(200)
  })

  test.each([
    ['no JSON', '{', 'Empty or invalid json'],
    ['nothing', '', 'Empty or invalid json'],
    ['a list of numbers', '[1]', 'Empty or invalid json'],
    ['rows of different columns', '[{"slug":"a"},{"slug":"b","n":1}]', 'All object keys must match'],
  ])('a body that is %s is PGRST102', async (_what, body, message) => {
    const { status, json } = await request('orders', { method: 'POST', body })
    expect([status, json.code, json.message]).toEqual([400, 'PGRST102', message])
  })

  test('an empty list inserts nothing, and a row without columns the defaults', async () => {
    const call = { method: 'POST', schema: 'public', headers: { prefer: 'return=representation' } }
    expect((await request('notes', { ...call, body: '[]' })).json).toEqual([])
    const { json } = await request('notes?select=text', { ...call, body: '[{},{}]' })
    expect(json).toEqual([{ text: 'empty' }, { text: 'empty' }])
  })
})

describe('rows', () => {
  test('an answer has at most as many rows as the settings allow, and its count tells of all', async () => {
    const limited = await startApiGateway(database, { maxRows: 3 })
    try {
      const { json, status, headers } = await limited.request('rpc/numbered?k=10', {
        headers: { prefer: 'count=exact' },
      })
      expect([json.length, status, headers.get('content-range')]).toEqual([3, 206, '0-2/10'])
      expect((await limited.request('rpc/numbered?k=10&limit=2')).json).toHaveLength(2)
    } finally {
      await limited.gateway.stop()
    }
  })

  test('the header Range chooses rows, and what lies behind the end is 416', async () => {
    const numbered = (headers: Record<string, string>) => request('rpc/numbered?k=10', { headers })
    const part = await numbered({ range: '2-4' })
    expect([part.json.map(({ x }: { x: number }) => x), part.headers.get('content-range')]).toEqual([
      [3, 4, 5],
      '2-4/*',
    ])
    const behind = await numbered({ range: '20-30', prefer: 'count=exact' })
    expect([behind.status, behind.json.code]).toEqual([416, 'PGRST103'])
    expect((await request('rpc/numbered?k=1&limit=-1')).status).toBe(416)
  })

  test('HEAD has the headers of GET and no body', async () => {
    const head = await request('rpc/numbered?k=4', { method: 'HEAD', headers: { prefer: 'count=exact' } })
    expect([head.status, head.text, head.headers.get('content-range')]).toEqual([200, '', '0-3/4'])
  })

  test('a migration is seen by the next request', async () => {
    expect((await request('late')).json.code).toBe('PGRST205')
    await sql`create table shop.late (id int)`
    await sql`grant select on shop.late to service_role`
    expect((await request('late')).json).toEqual([])
  })

  test('a column that is called like the words of a statement is a column', async () => {
    await sql`create table shop.words ("pgrst_page" int, "from" int, "row" int, t int)`
    await sql`grant all on shop.words to service_role`
    await request('words', { method: 'POST', body: '{"pgrst_page":1,"from":2,"row":3,"t":4}' })
    expect((await request('words?from=eq.2&order=row')).json).toEqual([{ pgrst_page: 1, from: 2, row: 3, t: 4 }])
  })
})

describe('what is not served', () => {
  test.each([
    ['the document of the API', '', { method: 'GET' }, 404, 'PGRST126'],
    ['a path below a table', 'orders/1', { method: 'GET' }, 404, 'PGRST125'],
    ['PUT', 'orders?id=eq.1', { method: 'PUT', body: '{}' }, 405, 'PGRST117'],
    ['PATCH of a function', 'rpc/add', { method: 'PATCH', body: '{}' }, 405, 'PGRST117'],
    ['CSV', 'orders', { headers: { accept: 'text/csv' } }, 406, 'PGRST107'],
    ['a resource of another table', 'orders?tags.slug=eq.1', {}, 400, 'PGRST108'],
    [
      'an unknown preference that is to be kept',
      'orders',
      { headers: { prefer: 'handling=strict,x=1' } },
      400,
      'PGRST122',
    ],
  ])('%s is refused with its code', async (_what, path, call, status, code) => {
    const answer = await request(path, call)
    expect([answer.status, answer.json.code]).toEqual([status, code])
  })
})

describe('the database', () => {
  test('one that cannot be reached is 503, and the answer names no host', async () => {
    const rest = new RestService({
      databaseUrl: 'postgres://authenticator:secret@127.0.0.1:1/postgres',
      keys: KEYS,
      settings: DEFAULT_API_SETTINGS,
    })
    const gateway = new Gateway({ functions: () => undefined, health: () => ({}), services: [rest] })
    const port = await gateway.start()
    const answer = await fetch(`http://127.0.0.1:${port}/rest/v1/notes`, { headers: { apikey: KEYS.secretKey } })
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { code: 'PGRST001', details: null, hint: null, message: 'Database client error. Retrying the connection.' },
    ])
    await gateway.stop()
  })

  test('connections that are lost are replaced', async () => {
    await request('orders')
    const ended = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'rest'`
    expect(ended.length).toBeGreaterThan(0)
    await expect.poll(async () => (await request('orders')).status).toBe(200)
  })

  test('a connection that is lost under a request is 503, and nothing else notices', async () => {
    const running = request('rpc/sleep', { method: 'POST', body: '{"seconds": 7}' })
    const end = () => sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'rest' and query like '%"sleep"%' and state = 'active'`
    await expect.poll(async () => (await end()).length).toBe(1)
    expect((await running).status).toBe(503)
    expect((await request('orders')).status).toBe(200)
  })

  test('a stop breaks off what runs, and leaves no connection', async () => {
    const api = await startApiGateway(database)
    const running = api
      .request('rpc/sleep', { method: 'POST', body: '{"seconds": 7}' })
      .catch((error: unknown) => error)
    const sleeping = () => sql`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'rest' and query like '%"sleep"%' and state = 'active'`
    await expect.poll(async () => (await sleeping()).length).toBe(1)
    await api.gateway.stop()
    await api.gateway.stop()
    const outcome = await running
    expect(outcome instanceof Error ? outcome.name : (outcome as { status: number }).status).not.toBe(200)
    await expect.poll(async () => (await sleeping()).length, { timeout: 60_000 }).toBe(0)
    await expect(fetch(`${api.url}/rest/v1/`)).rejects.toThrow()
  })
})
