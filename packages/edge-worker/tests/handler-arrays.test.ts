import { arrayTypes, StarflowSql } from '@starflow/core'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { openConnections } from '../src/worker-connections.ts'

const { sql: database, url } = await testDatabase()

test('a handler reads and writes arrays of every type', async () => {
  await database`create type age as enum ('new', 'old')`
  const { own, handlers, close } = openConnections({ databaseUrl: url }, 3, 'arrays')
  handlers.readArrays(arrayTypes((await new StarflowSql(own).lookAround()).arrayTypes))
  const { sql } = handlers.lend(new AbortController().signal)
  const lists = { texts: ['a "b"', 'c,d', '\\', ''], numbers: [1, 2], nested: [[1], [2]], nulls: [null, 'x'] }
  const [row] = await sql`
    select ${lists.texts}::text[] as texts, ${lists.numbers}::integer[] as numbers, ${lists.nested}::integer[] as nested,
           ${lists.nulls}::text[] as nulls, array[true, false] as facts, '{"(1,1),(0,0)"}'::box[] is not null as boxes,
           array['{"a": 1}']::jsonb[] as documents, ${[{ a: 1 }, 'b'] as never}::jsonb[] as written, array['new', 'old']::age[] as ages`
  expect(row).toEqual({
    ...lists,
    facts: [true, false],
    boxes: true,
    documents: [{ a: 1 }],
    written: [{ a: 1 }, 'b'],
    ages: ['new', 'old'],
  })
  await close(1_000)
})
