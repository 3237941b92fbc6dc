import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { type Runtime, runtimeCommand } from '../../../tests/support/runtimes.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { openConnections } from '../src/worker-connections.ts'

const { url } = await testDatabase()
const proxy = await flakyProxy(url)
afterAll(() => proxy.close())
const PROGRAM = fileURLToPath(new URL('./support/array-reader.ts', import.meta.url))

test('a handler reads and writes arrays of every type', async () => {
  const { handlers: sql, close } = openConnections({ databaseUrl: url }, 3, 'arrays')
  const lists = { texts: ['a "b"', 'c,d', '\\', ''], numbers: [1, 2], nested: [[1], [2]], nulls: [null, 'x'] }
  const [row] = await sql!`
    select ${lists.texts}::text[] as texts, ${lists.numbers}::integer[] as numbers, ${lists.nested}::integer[] as nested,
           ${lists.nulls}::text[] as nulls, array[true, false] as facts, '{"(1,1),(0,0)"}'::box[] is not null as boxes,
           array['{"a": 1}']::jsonb[] as documents`
  expect(row).toEqual({ ...lists, facts: [true, false], boxes: true, documents: [{ a: 1 }] })
  await close(1_000)
})

test.each<Runtime>(['Node', 'Deno'])(
  'a connection that is lost under the question for types fails one query, and neither ends %s nor makes arrays text',
  async (runtime) => {
    proxy.resetAt('pg_catalog.pg_type')
    const [command, ...args] = runtimeCommand(runtime, PROGRAM)
    const child = spawn(command, [...args, proxy.url], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const [exitCode] = await once(child, 'close')
    expect(output).toBe('lost: ECONNRESET\nread: ["a","b"]\n')
    expect(exitCode).toBe(0)
  },
)
