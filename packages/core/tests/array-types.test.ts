import postgres, { type Sql } from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { withBuiltInArrays } from '../src/index.ts'

const database = await testDatabase()
const proxy = await flakyProxy(database.url)
const clients: Sql[] = []
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end({ timeout: 0 })))
  await proxy.close()
})

/** Were the types asked for, its connection would be lost under that question, and nobody would handle it. */
function client(): Sql {
  proxy.resetAt('typcategory')
  const made = postgres(proxy.url, { max: 1, fetch_types: false, prepare: false, onnotice: () => {} })
  clients.push(made)
  return withBuiltInArrays(made)
}

const ID = '00000000-0000-4000-8000-00000000000a'

test.each<[string, unknown[]]>([
  ['text', ['a', 'b "c"', '', null]],
  ['uuid', [ID]],
  ['integer', [1, -2]],
  ['bigint', ['9007199254740993']],
  ['double precision', [0.5]],
  ['jsonb', [{ a: [1] }, 'b']],
])('lists of %s are written and read without a question for types', async (type, list) => {
  const [row] = await client().unsafe(`select $1::${type}[] as list`, [list as never])
  expect(row!.list).toEqual(list)
})

test('lists of truth values and of times are read as such', async () => {
  const [row] = await client()`select array[true, false] as truths, array['2030-01-01T12:00:00Z'::timestamptz] as times`
  expect(row).toEqual({ truths: [true, false], times: [new Date(Date.UTC(2030, 0, 1, 12))] })
})
