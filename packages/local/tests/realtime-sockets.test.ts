import { connect } from 'node:net'
import { createClient } from '@supabase/supabase-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { MAX_BROADCAST_BYTES } from '../src/realtime/broadcast.ts'
import { apiGatewayOfFile, fixtureDatabase, KEYS, startApiGateway, tokenOf, USER_ID } from './support/api-gateway.ts'
import { isBroadcast, PhoenixClient } from './support/phoenix-client.ts'

const database = await fixtureDatabase()
const { sql } = database
const { url, realtime } = await apiGatewayOfFile(database)

let topics = 0
/** A topic of members that no other test uses. */
const newTopic = () => `room:${++topics}`
const nowSeconds = () => Math.floor(Date.now() / 1000)
const memberUntil = (exp: number) => tokenOf({ role: 'authenticated', sub: USER_ID, exp })
const PRIVATE = { private: true }
const reply = (status: string, reason?: string) => ({
  event: 'phx_reply',
  payload: { status, response: reason === undefined ? expect.anything() : { reason } },
})

describe('tokens', () => {
  test.each([
    ['expired', memberUntil(nowSeconds() - 1), 'InvalidJWTToken: Token has expired'],
    ['forged', `${tokenOf().slice(0, -4)}AAAA`, 'InvalidJWTToken: The token has a wrong signature'],
    ['of no form', 'nonsense', 'InvalidJWTToken: The token cannot be read'],
  ])('a join with a token that is %s is refused with the reason', async (_what, token, reason) => {
    const client = await PhoenixClient.connect(url)
    expect(await client.join(newTopic(), {}, token)).toMatchObject(reply('error', reason))
  })

  test('a channel is closed when its token expires, and the client is told why', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    expect(await client.join(topic, PRIVATE, memberUntil(nowSeconds() + 2))).toMatchObject(reply('ok'))
    await client.hears(({ event }) => event === 'phx_close')
    expect(client.heard.slice(-2)).toMatchObject([
      { event: 'system', payload: { status: 'error', message: 'InvalidJWTToken: Token has expired' } },
      { event: 'phx_close', topic: `realtime:${topic}` },
    ])
    expect(await client.ask(`realtime:${topic}`, 'broadcast', { event: 'late' })).toMatchObject(reply('error'))
  })

  test('a new token lets the channel outlive the old one', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    const end = nowSeconds() + 2
    await client.join(topic, PRIVATE, memberUntil(end))
    client.push(`realtime:${topic}`, 'access_token', { access_token: memberUntil(end + 60) })
    await expect.poll(() => Date.now() > end * 1000 + 200, { timeout: 60_000 }).toBe(true)
    await sql`select realtime.send('{}', 'still here', ${topic}, true)`
    await client.hears(isBroadcast('still here'))
  })

  test.each([
    ['is expired', memberUntil(nowSeconds() - 1), /expired/],
    ['is forged', `${tokenOf().slice(0, -4)}AAAA`, /wrong signature/],
    ['may not listen', KEYS.publishableKey, /do not have permissions to read/],
  ])('a new token that %s closes the channel', async (_what, token, message) => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    await client.join(topic, PRIVATE, tokenOf())
    client.push(`realtime:${topic}`, 'access_token', { access_token: token })
    await client.hears(({ event }) => event === 'phx_close')
    expect(client.heard.find(({ event }) => event === 'system')?.payload.message).toMatch(message)
  })

  test.each(['postgres', 'supabase_admin', 'no such role'])(
    'a signed token of the role %s opens no private channel, whatever that role may see',
    async (role) => {
      const client = await PhoenixClient.connect(url)
      expect(await client.join(newTopic(), PRIVATE, tokenOf({ role }))).toMatchObject(reply('error'))
    },
  )

  test('service_role, which is above policies, hears and sends in every private channel', async () => {
    const client = await PhoenixClient.connect(url, KEYS.secretKey)
    const config = { private: true, broadcast: { ack: true, self: true } }
    expect(await client.join('anything', config)).toMatchObject(reply('ok'))
    expect(await client.ask('realtime:anything', 'broadcast', { event: 'x', payload: 1 })).toMatchObject(reply('ok'))
    await client.hears(isBroadcast('x'))
  })

  test('trying out a policy leaves no message behind', async () => {
    const before = await sql`select count(*) from realtime.messages`
    const client = await PhoenixClient.connect(url)
    const topic = newTopic()
    await client.join(topic, { private: true, broadcast: { ack: true } }, tokenOf())
    await client.ask(`realtime:${topic}`, 'broadcast', { event: 'x' })
    expect(await sql`select count(*) from realtime.messages`).toEqual(before)
  })
})

describe('sockets', () => {
  test('a socket without a key or with a wrong one is refused, and so is another path', async () => {
    const refused = (path: string) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`)
        socket.on('error', (error) => resolve(error.message))
      })
    expect(await refused('/realtime/v1/websocket')).toContain('401')
    expect(await refused('/realtime/v1/websocket?apikey=wrong')).toContain('401')
    expect(await refused(`/realtime/v1/other?apikey=${KEYS.anonKey}`)).toContain('404')
    expect(await refused('/rest/v1/orders')).toContain('404')
  })

  test('a heartbeat is answered at once, also while a policy takes its time', async () => {
    await sql`create or replace function public.waits() returns boolean language sql as
      $$ select pg_advisory_lock_shared(7) is not null and pg_advisory_unlock_shared(7) $$`
    await sql`create policy slow on realtime.messages for select to authenticated
      using (realtime.topic() = 'slow' and public.waits())`
    const holder = database.connect()
    await holder`select pg_advisory_lock(7)`
    const client = await PhoenixClient.connect(url)
    const joined = client.join('slow', PRIVATE, tokenOf())
    expect(await client.ask('phoenix', 'heartbeat')).toMatchObject(reply('ok'))
    expect(client.heard).toHaveLength(1)
    await holder`select pg_advisory_unlock(7)`
    expect(await joined).toMatchObject(reply('ok'))
  })

  test('a socket that is dropped frees its channels, also one that was just being joined', async () => {
    await expect.poll(() => realtime.hub.subscriberCount).toBe(0)
    const holder = database.connect()
    await holder`select pg_advisory_lock(7)`
    const client = await PhoenixClient.connect(url)
    for (const topic of [newTopic(), newTopic(), newTopic()]) await client.join(topic, {}, tokenOf())
    expect(realtime.hub.subscriberCount).toBe(3)
    void client.join('slow', PRIVATE, tokenOf()).catch(() => {})
    const asked = () => sql`select from pg_locks where locktype = 'advisory' and objid = 7 and not granted`
    await expect.poll(async () => (await asked()).length).toBe(1)
    client.drop()
    await expect.poll(() => realtime.hub.subscriberCount).toBe(0)
    await holder`select pg_advisory_unlock(7)`
    await expect.poll(async () => (await asked()).length).toBe(0)
    // The next question waits behind that one on the same socket's queue; here any round trip does.
    await (await PhoenixClient.connect(url)).ask('phoenix', 'heartbeat')
    expect(realtime.hub.isEmpty).toBe(true)
  })

  test('a join whose policy loses its connection is refused, and the next one is not', async () => {
    const holder = database.connect()
    await holder`select pg_advisory_lock(7)`
    const client = await PhoenixClient.connect(url)
    const joined = client.join('slow', PRIVATE, tokenOf())
    const end = () => database.as('supabase_admin')`
      select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 7 and not granted`
    await expect.poll(async () => (await end()).length).toBe(1)
    expect(await joined).toMatchObject(reply('error', 'UnableToReachDatabase: try again'))
    await holder`select pg_advisory_unlock(7)`
    expect(await client.join('slow', PRIVATE, tokenOf())).toMatchObject(reply('ok'))
  })

  test('a topic that is joined again has one channel', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    await client.join(topic)
    await client.join(topic)
    await sql`select realtime.send('{}', 'one', ${topic}, false)`
    await sql`select realtime.send('{}', 'end', ${topic}, false)`
    await client.hears(isBroadcast('end'))
    expect(client.heard.filter(isBroadcast('one'))).toHaveLength(1)
    client.push(`realtime:${topic}`, 'phx_leave')
    await expect.poll(() => client.heard.at(-1)?.event).toBe('phx_reply')
  })

  test('fifty sockets hear the same message once each, and their own topics besides', async () => {
    const shared = newTopic()
    const clients = await Promise.all(Array.from({ length: 50 }, () => PhoenixClient.connect(url)))
    await Promise.all(clients.flatMap((client, index) => [client.join(shared), client.join(`${shared}:${index}`)]))
    await sql`select realtime.send('{}', 'all', ${shared}, false)`
    await sql`select realtime.send(jsonb_build_object('n', n), 'own', ${`${shared}:`} || n, false) from generate_series(0, 49) n`
    const own = await Promise.all(clients.map((client) => client.hears(isBroadcast('own'))))
    expect(own.map(({ payload }) => payload.payload.n)).toEqual(Array.from({ length: 50 }, (_, index) => index))
    for (const client of clients) expect(client.heard.filter(({ event }) => event === 'broadcast')).toHaveLength(2)
  })

  test('what is no message ends its socket and no other', async () => {
    const other = await PhoenixClient.connect(url)
    for (const data of ['{', '[]', '{"topic": 1}', Buffer.from([3, 255, 255]), Buffer.from([9])]) {
      const client = await PhoenixClient.connect(url)
      client.sendRaw(data)
      expect(await client.closed).toBe(1007)
    }
    const large = await PhoenixClient.connect(url)
    large.sendRaw('x'.repeat(2 * MAX_BROADCAST_BYTES))
    expect(await large.closed).toBe(1009)
    expect(await other.ask('phoenix', 'heartbeat')).toMatchObject(reply('ok'))
  })

  test('a connection that breaks off in its handshake harms nobody', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.write('GET /realtime/v1/websocket HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
    socket.resetAndDestroy()
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('a broadcast of 2 MB arrives', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    await client.join(topic, { broadcast: { self: true } })
    const text = 'é'.repeat(1024 * 1024)
    client.push(`realtime:${topic}`, 'broadcast', { event: 'big', payload: { text } })
    expect((await client.hears(isBroadcast('big'))).payload.payload.text).toBe(text)
  })
})

describe('messages of the database', () => {
  test('a foreign notification and a message that is no broadcast are not handed on', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    await client.join(topic)
    await sql`select pg_notify('realtime_messages', ''), pg_notify('realtime_messages', 'not an id')`
    await sql`select pg_notify('realtime_messages', gen_random_uuid()::text)`
    await sql`insert into realtime.messages (topic, extension, event) values (${topic}, 'presence', 'no')`
    await sql`select realtime.send('{}', 'yes', ${topic}, false)`
    await client.hears(isBroadcast('yes'))
    expect(client.heard.filter(({ event }) => event === 'broadcast')).toHaveLength(1)
  })

  test('they are heard again after the connection to the database was lost', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    await client.join(topic)
    const ended = await database.as('supabase_admin')`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'realtime'`
    expect(ended.length).toBeGreaterThan(0)
    await expect
      .poll(
        async () => {
          await sql`select realtime.send('{}', 'again', ${topic}, false)`
          return client.heard.some(isBroadcast('again'))
        },
        { timeout: 60_000 },
      )
      .toBe(true)
  })

  test('numbers keep their digits on the way', async () => {
    const topic = newTopic()
    const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime/v1/websocket?apikey=${KEYS.anonKey}&vsn=2.0.0`)
    onTestFinished(() => socket.terminate())
    const texts: string[] = []
    socket.on('message', (data) => texts.push(data.toString()))
    await new Promise((resolve) => socket.once('open', resolve))
    socket.send(JSON.stringify(['1', '1', `realtime:${topic}`, 'phx_join', {}]))
    await expect.poll(() => texts.length).toBe(1)
    await sql`select realtime.send('{"n": 9007199254740993}', 'number', ${topic}, false)`
    await expect.poll(() => texts.length).toBe(2)
    expect(texts[1]).toContain('{"n": 9007199254740993}')
  })
})

describe('broadcasts by HTTP', () => {
  const post = (path: string, body: string, headers: Record<string, string> = { apikey: KEYS.publishableKey }) =>
    fetch(`${url}/realtime/v1/api/broadcast${path}`, { method: 'POST', body, headers })

  test('several messages are sent with one request', async () => {
    const [first, second] = [newTopic(), newTopic()]
    const client = await PhoenixClient.connect(url)
    await client.join(first)
    await client.join(second)
    const messages = [
      { topic: first, event: 'a', payload: { n: 1 } },
      { topic: second, event: 'b', payload: { n: 2 } },
    ]
    expect((await post('', JSON.stringify({ messages }))).status).toBe(202)
    expect((await client.hears(isBroadcast('a'))).payload.payload).toEqual({ n: 1 })
    expect((await client.hears(isBroadcast('b'))).payload.payload).toEqual({ n: 2 })
  })

  test('one private message that is not allowed keeps all from being sent', async () => {
    const topic = newTopic()
    const client = await PhoenixClient.connect(url)
    await client.join(topic)
    const messages = [
      { topic, event: 'public', payload: {} },
      { topic, event: 'private', payload: {}, private: true },
    ]
    const refused = await post('', JSON.stringify({ messages }))
    expect([refused.status, await refused.json()]).toEqual([403, { message: expect.stringContaining(topic) }])
    await sql`select realtime.send('{}', 'end', ${topic}, false)`
    await client.hears(isBroadcast('end'))
    expect(client.heard.filter(({ event }) => event === 'broadcast')).toHaveLength(1)
  })

  test.each([
    ['without a key', '/t/events/e', '{}', {}, 401],
    [
      'with an expired token',
      '/t/events/e',
      '{}',
      { apikey: KEYS.anonKey, authorization: `Bearer ${memberUntil(1)}` },
      401,
    ],
    ['that is no JSON', '/t/events/e', '{', undefined, 422],
    ['whose path cannot be decoded', '/%E0%A4%A/events/e', '{}', undefined, 400],
    ['without messages', '', '{}', undefined, 422],
    ['with a message without a topic', '', '{"messages":[{"event":"e","payload":{}}]}', undefined, 422],
    ['with a message that is null', '', '{"messages":[null]}', undefined, 422],
    ['to another path', '/t', '{}', undefined, 404],
    ['that is too large', '/t/events/e', `"${'x'.repeat(MAX_BROADCAST_BYTES)}"`, undefined, 413],
  ])('a request %s is refused', async (_what, path, body, headers, status) => {
    const answer = await post(path, body, headers)
    expect([answer.status, await answer.json()]).toEqual([
      status,
      expect.objectContaining({ message: expect.any(String) }),
    ])
  })

  test('a page of any origin may ask', async () => {
    const answer = await fetch(`${url}/realtime/v1/api/broadcast`, { method: 'OPTIONS' })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
  })
})

describe('a gateway that stops', () => {
  test('closes every socket and connection, and lets go of the port', async () => {
    const connections = async () => {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where datname = current_database() and application_name in ('rest', 'realtime')`
      return rows.map(({ pid }) => pid)
    }
    const others = await connections()
    const api = await startApiGateway(database)
    const client = await PhoenixClient.connect(api.url)
    await client.join(newTopic(), PRIVATE, tokenOf())
    await api.request('orders')
    const own = (await connections()).filter((pid) => !others.includes(pid))
    expect(own.length).toBeGreaterThanOrEqual(3)
    await api.gateway.stop()
    await api.gateway.stop()
    expect(await client.closed).toBe(1001)
    expect(api.realtime.hub.isEmpty).toBe(true)
    await expect(fetch(`${api.url}/health`)).rejects.toThrow()
    await expect.poll(async () => (await connections()).filter((pid) => own.includes(pid))).toEqual([])
  })

  test('is joined again by its clients when another one listens on its port', async () => {
    const first = await startApiGateway(database)
    const client = createClient(first.url, KEYS.publishableKey, {
      auth: { persistSession: false },
      realtime: { transport: WebSocket as never, reconnectAfterMs: () => 50 },
    })
    onTestFinished(() => void client.removeAllChannels())
    const topic = newTopic()
    const statuses: string[] = []
    const events: string[] = []
    client
      .channel(topic)
      .on('broadcast', { event: '*' }, ({ event }) => events.push(event as string))
      .subscribe((status) => statuses.push(status))
    await expect.poll(() => statuses).toContain('SUBSCRIBED')
    await first.gateway.stop()
    const second = await startApiGateway(database, {}, first.port)
    onTestFinished(() => second.gateway.stop())
    await expect.poll(() => statuses.filter((status) => status === 'SUBSCRIBED').length, { timeout: 60_000 }).toBe(2)
    await sql`select realtime.send('{}', 'back', ${topic}, false)`
    await expect.poll(() => events).toEqual(['back'])
  })
})
