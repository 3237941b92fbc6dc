import { type Database, openDatabase, parseDatabaseUrl } from '@starflow/core'
import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../../tests/support/test-database.ts'

const { url } = await testDatabase()
const client = openDatabase(parseDatabaseUrl(url), { applicationName: 'overlapping' })
afterAll(() => client.end())

const twoAtOnce = (sql: Database, n: number) =>
  Promise.all([sql.unsafe<{ n: number }[]>('select 0 as n'), sql<{ n: number }[]>`select ${n}::int as n`])

test('queries that are sent at once on one connection are all answered', async () => {
  expect(client.prepares).toBe(false)
  for (let n = 1; n <= 20; n++) {
    expect((await twoAtOnce(client, n)).map(([row]) => row)).toEqual([{ n: 0 }, { n }])
  }
})

test('transactions go on as ever', async () => {
  expect(await client.begin((tx) => Promise.all([tx`select ${1}::int as n`, tx`select ${2}::int as n`]))).toEqual([
    [{ n: 1 }],
    [{ n: 2 }],
  ])
  expect((await twoAtOnce(client, 4)).map(([row]) => row)).toEqual([{ n: 0 }, { n: 4 }])
})
