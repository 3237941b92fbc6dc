import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'

const database = await testDatabase({ template: 'platform' })
const { sql } = database
// The form of the hosted dashboard.
await sql`create extension if not exists pg_net with schema extensions`

afterEach(() => sql`delete from net.http_request_queue`)

const requests = () =>
  sql`select id, method, url, headers, convert_from(body, 'UTF8') as body, timeout_milliseconds as timeout
    from net.http_request_queue order by id`

describe('requests', () => {
  test('http_post queues a JSON body with defaults, and returns the id', async () => {
    const [row] = await sql`select net.http_post('http://127.0.0.1/hook') as id`
    expect(await requests()).toEqual([
      {
        id: row?.id,
        method: 'POST',
        url: 'http://127.0.0.1/hook',
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
        timeout: 5000,
      },
    ])
  })

  test('http_post takes every argument by name', async () => {
    await sql`select net.http_post(
      url => 'http://127.0.0.1/hook?a=1', body => '{"text": "é"}', params => '{"b c": "d&e/ü", "f": null}',
      headers => '{"Authorization": "Bearer x"}', timeout_milliseconds => 60000)`
    expect(await requests()).toMatchObject([
      {
        url: 'http://127.0.0.1/hook?a=1&f=&b%20c=d%26e%2F%C3%BC',
        headers: { Authorization: 'Bearer x', 'Content-Type': 'application/json' },
        body: '{"text": "é"}',
        timeout: 60000,
      },
    ])
  })

  test('http_post refuses another content type than JSON', async () => {
    await expect(
      sql`select net.http_post('http://127.0.0.1', headers => '{"content-type": "text/plain"}')`,
    ).rejects.toThrow('Content-Type header must be "application/json"')
    expect(await requests()).toHaveLength(0)
  })

  test('http_get and http_delete queue requests without a body', async () => {
    await sql`select net.http_get('http://127.0.0.1', params => '{"a": "1"}', timeout_milliseconds => 10)`
    await sql`select net.http_delete('http://127.0.0.1/1', headers => '{"x": "y"}')`
    expect(await requests()).toMatchObject([
      { method: 'GET', url: 'http://127.0.0.1?a=1', headers: {}, body: null, timeout: 10 },
      { method: 'DELETE', url: 'http://127.0.0.1/1', headers: { x: 'y' }, body: null, timeout: 5000 },
    ])
  })

  test('service_role may send, and does not see what others send', async () => {
    const client = database.as('service_role')
    await client`select net.http_post('http://127.0.0.1')`
    await expect(client`select * from net.http_request_queue`).rejects.toMatchObject({ code: '42501' })
    expect(await client`select * from net._http_response`).toHaveLength(0)
  })
})

test('the sender is woken when a request commits, and not when it is rolled back', async () => {
  const seen: number[] = []
  const listener = database.connect()
  const watcher = database.connect()
  await listener.listen('net_http_request', async () => {
    seen.push((await watcher`select from net.http_request_queue`).length)
  })
  await sql
    .begin(async (transaction) => {
      await transaction`select net.http_post('http://127.0.0.1/rolled-back')`
      throw new Error('roll back')
    })
    .catch(() => {})
  await sql.begin(async (transaction) => {
    await transaction`select net.http_post('http://127.0.0.1/1')`
    await transaction`select net.http_post('http://127.0.0.1/2')`
  })
  // One wake for both, and by then both are there to be read.
  await expect.poll(() => seen).toEqual([2])
})

test('answers have the columns of the real table', async () => {
  await database.as('supabase_admin')`
    insert into net._http_response (id, status_code, content_type, headers, content, timed_out, error_msg)
    values (1, 200, 'application/json', '{"a": "b"}', '{}', false, null)`
  expect(await sql`select * from net._http_response`).toEqual([
    {
      id: '1',
      status_code: 200,
      content_type: 'application/json',
      headers: { a: 'b' },
      content: '{}',
      timed_out: false,
      error_msg: null,
      created: expect.any(Date),
    },
  ])
})
