import assert from 'node:assert/strict'
import type { RealtimeChannel, RealtimeChannelOptions, SupabaseClient } from '@supabase/supabase-js'
import { type CheckContext, clientOf, type SupabaseCheck, uniqueName } from './supabase-check.ts'

interface Message {
  readonly event: string
  readonly payload: Record<string, unknown>
  readonly meta?: { readonly id: string }
}

/** Clients of one check, which end with it. */
class Clients {
  readonly #context: CheckContext
  readonly #clients: SupabaseClient[] = []

  constructor(context: CheckContext) {
    this.#context = context
  }

  connect(key: string, token?: string, vsn?: '1.0.0' | '2.0.0'): SupabaseClient {
    const client = clientOf(this.#context, key, token, vsn)
    this.#clients.push(client)
    return client
  }

  anonymous(vsn?: '1.0.0' | '2.0.0'): SupabaseClient {
    return this.connect(this.#context.publishableKey, undefined, vsn)
  }

  user(token = this.#context.userToken): SupabaseClient {
    return this.connect(this.#context.publishableKey, token)
  }

  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.removeAllChannels()))
  }
}

/** A channel that was asked for, with what it hears. */
interface Joined {
  readonly channel: RealtimeChannel
  readonly status: string
  readonly reason: string | undefined
  readonly heard: Message[]
  /** Settles with the first message of that event, past or to come. */
  hears(event: string): Promise<Message>
  /** Settles when the channel has ended. */
  readonly closed: Promise<void>
}

async function join(
  client: SupabaseClient,
  topic: string,
  config: RealtimeChannelOptions['config'] = {},
): Promise<Joined> {
  // A join that is asked for before the client has its token would go out without it.
  await client.realtime.setAuth()
  const heard: Message[] = []
  const waiting = new Set<() => void>()
  const channel = client.channel(topic, { config })
  channel.on('broadcast', { event: '*' }, (message) => {
    heard.push(message as unknown as Message)
    for (const look of waiting) look()
  })
  const hears = (event: string) =>
    new Promise<Message>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`did not hear ${event}, but ${JSON.stringify(heard)}`)), 10_000)
      const look = () => {
        const found = heard.find((message) => message.event === event)
        if (found === undefined) return
        clearTimeout(timer)
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  return new Promise((resolve) => {
    let close = () => {}
    const closed = new Promise<void>((done) => {
      close = done
    })
    channel.subscribe((status, error) => {
      if (status === 'CLOSED') close()
      else resolve({ channel, status, reason: error?.message, heard, hears, closed })
    })
  })
}

const check = (title: string, run: (context: CheckContext, clients: Clients) => Promise<void>): SupabaseCheck => ({
  title,
  run: async (context) => {
    const clients = new Clients(context)
    try {
      await run(context, clients)
    } finally {
      await clients.end()
    }
  },
})

const send = ({ sql }: CheckContext, topic: string, event: string, payload: unknown, isPrivate: boolean) =>
  sql(`select realtime.send('${JSON.stringify(payload)}'::jsonb, '${event}', '${topic}', ${isPrivate})`)

/** What supabase-js does with channels. Topics of members begin with `room:`. */
export const realtimeChecks: readonly SupabaseCheck[] = [
  check('anybody with a key joins a public channel', async (_context, clients) => {
    assert.equal((await join(clients.anonymous(), uniqueName('room:'))).status, 'SUBSCRIBED')
  }),
  check('a member joins a private channel', async (_context, clients) => {
    const { status, reason } = await join(clients.user(), uniqueName('room:'), { private: true })
    assert.deepEqual([status, reason], ['SUBSCRIBED', undefined])
  }),
  check('who is no member is refused a private channel, with the reason', async (_context, clients) => {
    const topic = uniqueName('room:')
    const { status, reason } = await join(clients.anonymous(), topic, { private: true })
    assert.equal(status, 'CHANNEL_ERROR')
    assert.equal(reason, `Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`)
    assert.equal((await join(clients.user(), uniqueName('secret'), { private: true })).status, 'CHANNEL_ERROR')
  }),
  check(
    'realtime.send reaches a public channel, with a payload longer than a notification',
    async (context, clients) => {
      const topic = uniqueName('room:')
      const joined = await join(clients.anonymous(), topic)
      await send(context, topic, 'run:completed', { a: 1, big: 'x'.repeat(20_000) }, false)
      const { payload, meta } = await joined.hears('run:completed')
      assert.deepEqual([payload.a, (payload.big as string).length], [1, 20_000])
      assert.match(meta?.id ?? '', /^[0-9a-f-]{36}$/)
    },
  ),
  check(
    'realtime.send reaches a private channel, and not the public one of the same topic',
    async (context, clients) => {
      const topic = uniqueName('room:')
      const listening = await join(clients.user(), topic, { private: true })
      const outside = await join(clients.anonymous(), topic)
      await send(context, topic, 'step:done', { p: 1 }, true)
      assert.deepEqual((await listening.hears('step:done')).payload, { p: 1 })
      await send(context, topic, 'public', {}, false)
      await outside.hears('public')
      assert.deepEqual(
        outside.heard.map(({ event }) => event),
        ['public'],
      )
    },
  ),
  check(
    'a broadcast of a client reaches the others, is acknowledged, and does not come back',
    async (_context, clients) => {
      const topic = uniqueName('room:')
      const other = await join(clients.anonymous(), topic)
      const sender = await join(clients.anonymous(), topic, { broadcast: { ack: true } })
      assert.equal(await sender.channel.send({ type: 'broadcast', event: 'hi', payload: { z: 'ü' } }), 'ok')
      assert.deepEqual((await other.hears('hi')).payload, { z: 'ü' })
      await other.channel.send({ type: 'broadcast', event: 'back', payload: {} })
      await sender.hears('back')
      assert.deepEqual(
        sender.heard.map(({ event }) => event),
        ['back'],
      )
    },
  ),
  check('a broadcast by HTTP reaches those who have joined', async (context, clients) => {
    const topic = uniqueName('room:')
    const joined = await join(clients.anonymous(), topic)
    const result = await clients.connect(context.secretKey).channel(topic).httpSend('via-http', { q: 2 })
    assert.deepEqual(result, { success: true })
    assert.deepEqual((await joined.hears('via-http')).payload, { q: 2 })
  }),
  check('a channel is left', async (_context, clients) => {
    const { channel, closed } = await join(clients.anonymous(), uniqueName('room:'))
    assert.equal(await channel.unsubscribe(), 'ok')
    await closed
  }),
  check('a transaction that is rolled back sends nothing', async (context, clients) => {
    const topic = uniqueName('room:')
    const joined = await join(clients.user(), topic, { private: true })
    await context.sql(`begin; select realtime.send('{}'::jsonb, 'rolled back', '${topic}', true); rollback`)
    await send(context, topic, 'committed', {}, true)
    await joined.hears('committed')
    assert.deepEqual(
      joined.heard.map(({ event }) => event),
      ['committed'],
    )
  }),
  check('a sender that wants to hears its own broadcasts', async (_context, clients) => {
    const joined = await join(clients.anonymous(), uniqueName('room:'), { broadcast: { self: true, ack: true } })
    assert.equal(await joined.channel.send({ type: 'broadcast', event: 'echo', payload: { n: 1 } }), 'ok')
    assert.deepEqual((await joined.hears('echo')).payload, { n: 1 })
  }),
  check('both versions of the protocol hear each other', async (context, clients) => {
    const topic = uniqueName('room:')
    const first = await join(clients.anonymous('1.0.0'), topic)
    const second = await join(clients.anonymous('2.0.0'), topic)
    await first.channel.send({ type: 'broadcast', event: 'from 1', payload: { é: 1 } })
    assert.deepEqual((await second.hears('from 1')).payload, { é: 1 })
    await second.channel.send({ type: 'broadcast', event: 'from 2', payload: { é: 2 } })
    assert.deepEqual((await first.hears('from 2')).payload, { é: 2 })
    await send(context, topic, 'from the database', { é: 3 }, false)
    assert.deepEqual((await first.hears('from the database')).payload, { é: 3 })
    assert.deepEqual((await second.hears('from the database')).payload, { é: 3 })
  }),
  check('bytes are broadcast as they are', async (_context, clients) => {
    const topic = uniqueName('room:')
    const other = await join(clients.anonymous(), topic)
    const sender = await join(clients.anonymous(), topic, { broadcast: { ack: true } })
    const bytes = Uint8Array.from([0, 1, 254, 255])
    assert.equal(await sender.channel.send({ type: 'broadcast', event: 'bytes', payload: bytes.buffer }), 'ok')
    const { payload } = await other.hears('bytes')
    assert.deepEqual(new Uint8Array(payload as unknown as ArrayBuffer), bytes)
    await sender.channel.httpSend('by http', bytes.buffer)
    assert.deepEqual(new Uint8Array((await other.hears('by http')).payload as unknown as ArrayBuffer), bytes)
  }),
  check('a member who may only listen is refused to send, by socket and by HTTP', async (_context, clients) => {
    const topic = uniqueName('room:read-only')
    const listener = await join(clients.user(), topic, { private: true })
    const sender = await join(clients.user(), topic, { private: true, broadcast: { ack: true } })
    assert.equal(await sender.channel.send({ type: 'broadcast', event: 'no', payload: {} }), 'error')
    await assert.rejects(sender.channel.httpSend('no', {}), /do not have permissions to write/)
    assert.deepEqual(listener.heard, [])
  }),
  check(
    'a member who may send in a private channel is heard there, by socket and by HTTP',
    async (_context, clients) => {
      const topic = uniqueName('room:')
      const listener = await join(clients.user(), topic, { private: true })
      const sender = await join(clients.user(), topic, { private: true, broadcast: { ack: true } })
      assert.equal(await sender.channel.send({ type: 'broadcast', event: 'socket', payload: { n: 1 } }), 'ok')
      assert.deepEqual((await listener.hears('socket')).payload, { n: 1 })
      await sender.channel.httpSend('http', { n: 2 })
      assert.deepEqual((await listener.hears('http')).payload, { n: 2 })
    },
  ),
  check('each of two users hears their own channel only', async (context, clients) => {
    const topic = `user:${context.userId}`
    const own = await join(clients.user(), topic, { private: true })
    const other = await join(clients.user(context.otherToken), topic, { private: true })
    assert.deepEqual([own.status, other.status], ['SUBSCRIBED', 'CHANNEL_ERROR'])
    await send(context, topic, 'yours', { n: 1 }, true)
    await own.hears('yours')
    assert.deepEqual(other.heard, [])
  }),
  check('a trigger broadcasts the changes of a table', async (context, clients) => {
    const slug = uniqueName('room:')
    const joined = await join(clients.user(), slug, { private: true })
    await context.sql(`
      create or replace function shop.tell() returns trigger language plpgsql as $$
      begin
        perform realtime.broadcast_changes(new.slug, tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
        return null;
      end $$;
      create or replace trigger tell after insert on shop.orders for each row
        when (new.slug like 'room:%') execute function shop.tell();
      insert into shop.orders (slug, n) values ('${slug}', 5)`)
    const { payload } = await joined.hears('INSERT')
    assert.deepEqual(
      [payload.operation, payload.schema, payload.table, (payload.record as { n: number }).n, payload.old_record],
      ['INSERT', 'shop', 'orders', 5, null],
    )
  }),
  check('postgres_changes, presence and replay are refused with a reason', async (_context, clients) => {
    const reasonOf = (channel: RealtimeChannel) =>
      new Promise<string>((resolve) => {
        channel.subscribe((status, error) => {
          if (status !== 'CLOSED') resolve(`${status}: ${error?.message}`)
        })
      })
    const client = clients.anonymous()
    const changes = client
      .channel(uniqueName('room:'))
      .on('postgres_changes', { event: '*', schema: 'public' }, () => {})
    assert.match(await reasonOf(changes), /^CHANNEL_ERROR: PostgresChangesNotServed: .*realtime\.broadcast_changes/)
    const presence = client.channel(uniqueName('room:')).on('presence', { event: 'sync' }, () => {})
    assert.match(await reasonOf(presence), /^CHANNEL_ERROR: PresenceNotServed: /)
    const replay = clients
      .user()
      .channel(uniqueName('room:'), { config: { private: true, broadcast: { replay: { since: 0 } } } })
    assert.match(await reasonOf(replay), /^CHANNEL_ERROR: ReplayNotServed: /)
  }),
  check('messages of one transaction arrive in their order', async (context, clients) => {
    const topic = uniqueName('room:')
    const joined = await join(clients.anonymous(), topic)
    await context.sql(`
      select realtime.send(jsonb_build_object('n', n), 'number', '${topic}', false) from generate_series(1, 500) n;
      select realtime.send('{}', 'end', '${topic}', false)`)
    await joined.hears('end')
    assert.deepEqual(
      joined.heard.slice(0, -1).map(({ payload }) => payload.n),
      Array.from({ length: 500 }, (_, index) => index + 1),
    )
  }),
]
