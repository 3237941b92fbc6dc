import { unpipelinedClient } from '@starflow/core'
import postgres, { type Sql } from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../../tests/support/test-database.ts'

const { url } = await testDatabase()
const direct = postgres(url.replace('?pgbouncer=true', ''), { max: 1, prepare: false, fetch_types: false })
const client = unpipelinedClient(direct)
afterAll(() => direct.end({ timeout: 1 }))

/** One that knows its types, and one that asks for them. */
const twoAtOnce = (sql: Sql, n: number) =>
  Promise.all([sql.unsafe<{ n: number }[]>('select 0 as n'), sql<{ n: number }[]>`select ${n}::int as n`])

test('queries that are sent at once on one connection are all answered', async () => {
  for (let n = 1; n <= 20; n++) {
    expect((await twoAtOnce(client, n)).map(([row]) => row)).toEqual([{ n: 0 }, { n }])
  }
})

test('transactions and reserved connections go on as ever', async () => {
  expect(await client.begin((tx) => [tx`select ${1}::int as n`, tx`select ${2}::int as n`])).toEqual([
    [{ n: 1 }],
    [{ n: 2 }],
  ])
  const reserved = await client.reserve()
  expect(await reserved`select ${3}::int as n`).toEqual([{ n: 3 }])
  reserved.release()
  expect((await twoAtOnce(client, 4)).map(([row]) => row)).toEqual([{ n: 0 }, { n: 4 }])
})
