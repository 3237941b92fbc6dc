import postgres, { type Sql } from 'postgres'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { ConnectionLosses, isConnectionLoss, pausingClient } from '../src/index.ts'

const database = await testDatabase()
const proxy = await flakyProxy(database.url)
afterAll(() => proxy.close())

const clients: Sql[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end({ timeout: 0 })))
})

function client({ max = 1 } = {}): Sql {
  const made = postgres(proxy.url, { max, fetch_types: false, prepare: false, onnotice: () => {} })
  clients.push(made)
  return made
}

/** Sends a query during which the connection is reset, and `next` in the same breath as its failure. */
async function afterLoss<T>(sql: Sql, next: () => PromiseLike<T>): Promise<T> {
  await sql`select 1`
  proxy.resetAt('lost')
  try {
    // Without parameters the driver sends at once, and thinks it may send more behind it.
    await sql`select 'lost'`
  } catch {
    return await next()
  }
  throw new Error('The connection was not reset.')
}

/** `unsettled` when the query has said nothing for as long as a reconnect can take here. */
const settled = (query: PromiseLike<unknown>) =>
  Promise.race([
    query.then(
      () => 'answered',
      () => 'rejected',
    ),
    new Promise((resolve) => setTimeout(resolve, 1500, 'unsettled')),
  ])

describe('a query sent right after a connection was reset', () => {
  it('never settles in the driver itself: drop the pause when this fails', async () => {
    const sql = client()
    expect(await afterLoss(sql, () => settled(sql`select 2`))).toBe('unsettled')
  })

  it.each<[string, (sql: Sql) => PromiseLike<unknown>]>([
    ['a query', (sql) => sql`select 2`],
    ['unsafe', (sql) => sql.unsafe('select 2')],
    ['begin', (sql) => sql.begin((transaction) => transaction`select 2`)],
    ['a query with fragments', (sql) => sql`select ${sql`2`} as ${sql('two')}`],
    ['a query that is executed before it is awaited', (sql) => sql`select 2`.execute()],
    ['two at once', (sql) => Promise.all([sql`select 2`, sql`select 3`])],
  ])('is answered through a pausing client: %s', async (_kind, send) => {
    const sql = pausingClient(client())
    expect(await afterLoss(sql, () => settled(send(sql)))).toBe('answered')
  })

  it('is answered in a pool of several connections', async () => {
    const sql = pausingClient(client({ max: 3 }))
    expect(await afterLoss(sql, () => settled(sql`select 2`))).toBe('answered')
  })

  it('is answered by a client that was idle and shares the losses of another', async () => {
    const losses = new ConnectionLosses()
    const [busy, idle] = [pausingClient(client(), losses), pausingClient(client(), losses)]
    await idle`select 1`
    await busy`select 1`
    const outcome = busy`select pg_sleep(60)`.catch(() => settled(idle`select 2`))
    await until(async () => {
      const asleep =
        await database.sql`select from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active'
        and datname = current_database() and query not like '%activity%'`
      return asleep.length > 0
    })
    proxy.reset()
    expect(await outcome).toBe('answered')
  })

  it('is answered after a transaction lost its connection', async () => {
    const sql = pausingClient(client())
    await sql`select 1`
    proxy.resetAt('lost')
    const outcome = sql
      .begin((transaction) => transaction`select ${'lost'}::text`)
      .catch(async () => settled(sql`select 2`))
    expect(await outcome).toBe('answered')
  })
})

describe('the first query after pg_terminate_backend', () => {
  async function afterTermination(sql: Sql): Promise<unknown> {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const asleep = sql`select pg_sleep(60)`.catch((error: unknown) => error)
    await until(async () => {
      const [ended] = await database.sql`select pg_terminate_backend(pid) as done
        from pg_stat_activity where pid = ${row!.pid} and query like '%pg_sleep%'`
      return ended?.done === true
    })
    expect(isConnectionLoss(await asleep)).toBe(true)
    return sql`select 2 as two`.catch((error: { code?: unknown }) => error.code)
  }

  it('is blamed by the driver itself for the termination: drop the probe when this fails', async () => {
    expect(await afterTermination(client())).toBe('57P01')
  })

  it('is answered through a pausing client of one connection', async () => {
    expect(await afterTermination(pausingClient(client()))).toEqual([{ two: 2 }])
  })
})

describe('a pausing client', () => {
  it('does not wait after an error that the server answers with', async () => {
    const sql = pausingClient(client())
    const error: unknown = await sql`select 1/0`.catch((reason: unknown) => reason)
    expect(isConnectionLoss(error)).toBe(false)
    expect((error as Error).message).toBe('division by zero')
  })

  it('keeps the client’s own methods and options', async () => {
    const plain = client()
    const sql = pausingClient(plain)
    expect(sql.options).toBe(plain.options)
    expect(await sql`select ${sql.json({ a: 1 })}::jsonb ->> 'a' as a`).toEqual([{ a: '1' }])
    expect(await sql`select * from (values (1), (2)) v(n) where n in ${sql([2, 3])}`).toEqual([{ n: 2 }])
    const rows: unknown[] = []
    await sql`select n from generate_series(1, 3) n`.cursor(1, (chunk) => void rows.push(...chunk))
    expect(rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  it.each(['ECONNRESET', 'EPIPE', 'ERR_SOCKET_CLOSED', 'CONNECTION_CLOSED', 'CONNECT_TIMEOUT', '57P01', '08006'])(
    'takes %s for a lost connection',
    (code) => expect(isConnectionLoss({ code })).toBe(true),
  )

  it.each(['22012', '40P01', 'SF302', '57014', 'UNDEFINED_VALUE', undefined])('does not take %s for one', (code) =>
    expect(isConnectionLoss({ code })).toBe(false),
  )
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
