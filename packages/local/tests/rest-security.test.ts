import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { signToken } from '../src/access/json-web-token.ts'
import { apiGatewayOfFile, fixtureDatabase, KEYS, tokenOf, USER_ID } from './support/api-gateway.ts'

const database = await fixtureDatabase()
const { sql } = database
const { request } = await apiGatewayOfFile(database)
const RUNS = { numRuns: 40 }

/** Any text that Postgres can hold. */
const anyText = fc.string({ unit: 'binary', maxLength: 30 }).filter((text) => !text.includes('\0'))
const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`
const query = (pairs: Record<string, string>) => new URLSearchParams(pairs).toString()

describe('what a caller writes is never SQL', () => {
  test('a value of any characters is found by itself, in each place where a value may stand', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (value) => {
        const written = await request('tags', { method: 'POST', body: JSON.stringify({ slug: `v${value}` }) })
        expect([201, 409]).toContain(written.status)
        const filters: Record<string, string>[] = [
          { slug: `eq.v${value}` },
          { slug: `in.(${quoted(`v${value}`)},other)` },
          { or: `(slug.eq.${quoted(`v${value}`)},slug.eq.other)` },
          { slug: `eq(any).{${quoted(`v${value}`)}}` },
        ]
        for (const filter of filters) {
          const found = await request(`tags?select=slug&${query(filter)}`)
          expect(found.json, JSON.stringify(filter)).toEqual([{ slug: `v${value}` }])
        }
      }),
      RUNS,
    )
  })

  test('a key of any characters is found inside JSON', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (key) => {
        const body = JSON.stringify({ slug: 'keys', input: { [`k${key}`]: { deep: key } } })
        const placed = await request('rpc/place_order', { method: 'POST', body })
        const path = `input->${quoted(`k${key}`)}->>deep`
        const found = await request(
          `orders?${query({ select: `found:${path}`, id: `eq.${placed.json[0].id}`, [path]: `eq.${key}`, order: path })}`,
        )
        expect(found.json).toEqual([{ found: key }])
      }),
      RUNS,
    )
  })

  test('a name of any characters is a name: of a column, of a table, of what is selected', async () => {
    await sql`create table shop."a ""table""; drop, (x)" (id int)`
    await sql`grant all on shop."a ""table""; drop, (x)" to service_role`
    const table = encodeURIComponent('a "table"; drop, (x)')
    expect((await request(table, { method: 'POST', body: '{"id": 1}' })).status).toBe(201)
    expect((await request(`${table}?select=id`)).json).toEqual([{ id: 1 }])
    const written = await request('tags', { method: 'POST', body: JSON.stringify({ slug: 'odd', 'odd "name': 'v' }) })
    expect(written.status).toBe(201)
    const odd = quoted('odd "name')
    const found = await request(`tags?${query({ select: `${quoted('an "; alias')}:${odd}`, [odd]: 'eq.v' })}`)
    expect(found.json).toEqual([{ 'an "; alias': 'v' }])
    await fc.assert(
      fc.asyncProperty(anyText, async (name) => {
        const { status, json } = await request(`tags?${query({ select: quoted(`n${name}`) })}`)
        expect([status, json.code]).toEqual([400, '42703'])
      }),
      RUNS,
    )
  })

  const BREAK = `id" = null); drop table shop.tags; --`
  test.each([
    ['a column of a filter', `orders?${query({ [BREAK]: 'eq.1' })}`],
    ['a quoted column of a filter', `orders?${query({ [quoted(BREAK)]: 'eq.1' })}`],
    ['a filter in a tree', `orders?${query({ or: `(${BREAK}.eq.1,id.is.null)` })}`],
    ['an operator', `orders?${query({ slug: `eq; drop table shop.tags.1` })}`],
    ['a constant', `orders?${query({ slug: 'is.null; drop table shop.tags' })}`],
    ['a text search configuration', `orders?${query({ slug: `fts(english'); drop table shop.tags; --).x` })}`],
    ['a selected column', `orders?${query({ select: BREAK })}`],
    ['a selected name', `orders?${query({ select: `a":slug; drop table shop.tags; --` })}`],
    ['a cast', `orders?${query({ select: 'slug::text); drop table shop.tags; --' })}`],
    ['a cast to a query', `orders?${query({ select: 'slug::text from shop.orders' })}`],
    ['a JSON key', `orders?${query({ select: `input->>'a' from shop.orders; drop table shop.tags; --` })}`],
    ['an order', `orders?${query({ order: 'slug.desc; drop table shop.tags' })}`],
    ['a column of an order', `orders?${query({ order: quoted(BREAK) })}`],
    ['a limit', `orders?${query({ limit: '1; drop table shop.tags' })}`],
    ['an offset', `orders?${query({ offset: '1; drop table shop.tags' })}`],
    ['a table', encodeURIComponent('orders"; drop table shop.tags; --')],
    ['a function', `rpc/${encodeURIComponent('add"(); drop table shop.tags; --')}`],
  ])('%s is refused where it is none', async (_place, path) => {
    const { status, json } = await request(path)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(json).toEqual({
      code: expect.any(String),
      details: json.details,
      hint: json.hint,
      message: expect.any(String),
    })
    expect(await sql`select to_regclass('shop.tags') is not null as there`).toEqual([{ there: true }])
  })

  test.each([
    ['a column of a body', 'orders', { [BREAK]: 1 }],
    ['the columns of a write', `orders?columns=${encodeURIComponent(quoted(BREAK))}`, { slug: 'x' }],
    ['the column of a conflict', `orders?on_conflict=${encodeURIComponent(quoted(BREAK))}`, { slug: 'x' }],
    ['an argument of a function', 'rpc/add', { 'a int) , shop.tags; --': 1, a: 1 }],
  ])('%s is refused where it is none', async (_place, path, body) => {
    const headers = { prefer: 'resolution=merge-duplicates,missing=default' }
    const { status } = await request(path, { method: 'POST', body: JSON.stringify(body), headers })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(await sql`select to_regclass('shop.tags') is not null as there`).toEqual([{ there: true }])
  })

  test('NUL is refused in names and in values', async () => {
    for (const path of ['tags?sl%00ug=eq.1', 'tags?select=%22a%00%22', 't%00ags', 'tags?slug=eq.a%00b', 'rpc/a%00dd']) {
      const { status } = await request(path)
      expect([400, 404], path).toContain(status)
    }
    const written = await request('tags', { method: 'POST', body: '{"slug": "a\\u0000b"}' })
    expect(written.status).toBe(400)
  })
})

describe('who asks', () => {
  const whoami = (call: Parameters<typeof request>[1]) => request('rpc/whoami', { method: 'POST', body: '{}', ...call })

  test('a request without a key is refused, and one with a wrong key', async () => {
    const none = await whoami({ key: '' })
    expect([none.status, none.json.message]).toEqual([401, 'No API key found in request'])
    const wrong = await whoami({ key: `${KEYS.secretKey}x` })
    expect([wrong.status, wrong.json.message]).toEqual([401, 'Invalid API key'])
    expect(wrong.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('the bearer token says who asks, and the key alone where there is none', async () => {
    const roleOf = async (call: Parameters<typeof request>[1]) => (await whoami(call)).json.role
    expect(await roleOf({ key: KEYS.publishableKey, token: tokenOf() })).toBe('authenticated')
    expect(await roleOf({ key: KEYS.secretKey, token: KEYS.secretKey })).toBe('service_role')
    expect(await roleOf({ key: KEYS.publishableKey, token: KEYS.serviceRoleKey })).toBe('service_role')
    expect(await roleOf({ key: KEYS.publishableKey })).toBe('anon')
    expect(await roleOf({ key: KEYS.publishableKey, token: tokenOf({ sub: USER_ID }) })).toBe('anon')
  })

  test('a token that is forged, expired, not valid yet or of no form is refused with its reason', async () => {
    const reasonOf = async (token: string) => {
      const { status, json } = await whoami({ key: KEYS.publishableKey, token })
      return [status, json.code, json.message]
    }
    const past = Math.floor(Date.now() / 1000) - 1
    expect(await reasonOf(signToken({ role: 'service_role' }, 'another secret'))).toEqual([
      401,
      'PGRST301',
      'No suitable key or wrong key type',
    ])
    expect(await reasonOf(tokenOf({ role: 'authenticated', exp: past }))).toEqual([401, 'PGRST303', 'JWT expired'])
    expect(await reasonOf(tokenOf({ nbf: past + 3600 }))).toEqual([401, 'PGRST303', 'JWT not yet valid'])
    expect(await reasonOf('nonsense')).toEqual([401, 'PGRST301', 'JWT could not be decoded'])
  })

  test.each(['postgres', 'supabase_admin', 'pg_monitor', 'no such role'])(
    'a signed token of the role %s is refused: it is none of the API',
    async (role) => {
      const { status, json } = await whoami({ key: KEYS.publishableKey, token: tokenOf({ role }) })
      expect([400, 403]).toContain(status)
      expect(['42501', '22023']).toContain(json.code)
    },
  )

  test('nothing of a request stays for the next one', async () => {
    await whoami({ key: KEYS.publishableKey, token: tokenOf() })
    const answers = await Promise.all(Array.from({ length: 12 }, () => whoami({ key: KEYS.publishableKey })))
    for (const { json } of answers) expect(json).toMatchObject({ role: 'anon', uid: null, claims: { role: 'anon' } })
  })

  test('many callers at once are kept apart', async () => {
    const calls = Array.from({ length: 60 }, async (_, index) => {
      const sub = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
      const { json } = await whoami({ key: KEYS.publishableKey, token: tokenOf({ role: 'authenticated', sub }) })
      expect(json).toMatchObject({ role: 'authenticated', uid: sub })
    })
    await Promise.all(calls)
  })

  test('a role without the privilege is refused: 401 for anon, who may log in, 403 for others', async () => {
    const select = (token?: string) =>
      request('hidden', { schema: 'public', key: KEYS.publishableKey, ...(token === undefined ? {} : { token }) })
    const [anon, authenticated] = [await select(), await select(tokenOf())]
    expect([anon.status, anon.json.code, authenticated.status, authenticated.json.code]).toEqual([
      401,
      '42501',
      403,
      '42501',
    ])
  })

  test('a statement ends at the timeout of its role: 3 s for anon, 8 s for the others', async () => {
    const timeoutOf = async (call: Parameters<typeof request>[1]) => (await whoami(call)).json.timeout
    expect(await timeoutOf({ key: KEYS.publishableKey })).toBe('3s')
    expect(await timeoutOf({ key: KEYS.publishableKey, token: tokenOf() })).toBe('8s')
    expect(await timeoutOf({ key: KEYS.secretKey })).toBe('8s')
    const slow = await request('rpc/sleep', { method: 'POST', body: '{"seconds": 600}', key: KEYS.publishableKey })
    expect([slow.status, slow.json.code]).toEqual([500, '57014'])
  })
})
