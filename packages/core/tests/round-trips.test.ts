import net, { type AddressInfo } from 'node:net'
import { Flow, type Json } from '@starflow/dsl'
import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { openDatabase, parseDatabaseUrl } from '../src/index.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'

const database = await testDatabase()
const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})

/** Counts how often the client speaks after the server has spoken: each time it had to wait for an answer. */
async function countedConnection(prepare: boolean) {
  const target = new URL(database.url)
  let trips = 0
  let serverSpokeLast = true
  const server = net.createServer((near) => {
    const far = net.connect(Number(target.port), target.hostname)
    near.on('data', (chunk) => {
      if (serverSpokeLast) trips += 1
      serverSpokeLast = false
      far.write(chunk)
    })
    far.on('data', (chunk) => {
      serverSpokeLast = true
      near.write(chunk)
    })
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  const sql = openDatabase(parseDatabaseUrl(url.href), { applicationName: 'round trips', prepare })
  closing.push(() => sql.end().then(() => new Promise((resolve) => server.close(resolve))))
  return {
    sql,
    tripsOf: async (work: () => Promise<unknown>) => {
      const before = trips
      await work()
      return trips - before
    },
  }
}

test.each([
  ['prepared', true],
  ['unprepared, as through a transaction pooler,', false],
])('a %s hot call is one round trip', async (name, prepare) => {
  const { sql, tripsOf } = await countedConnection(prepare)
  const flow = await CompiledFlow.compile(
    sql,
    new Flow<{ n: number }>({ slug: `trips_${name.slice(0, 2)}` }).step({ slug: 'only' }, ({ n }) => n),
  )
  await flow.start({ n: 1 }, { n: 2 })
  const [first] = await flow.claim('only', 1)
  const trips = await tripsOf(async () => {
    const { claimed } = await flow.work('only', { qty: 1, reports: [completed(first!, 1)] })
    expect(claimed).toHaveLength(1)
  })
  expect(trips).toBe(1)
})

test('values that look like SQL come through an unprepared connection as they are', async () => {
  const { sql } = await countedConnection(false)
  const flow = await CompiledFlow.compile(
    sql,
    new Flow<Json>({ slug: 'hostile' }).step({ slug: 'only' }, () => null),
  )
  const outputs = [`'; drop schema pgflow cascade; --`, `\\'`, `\\\\`, `$1 $$ E'`, '\n\t\r', 'ü€𝄞', { '\\': `"'"` }]
  const runIds = await flow.start(...outputs.map(() => null))
  const claimed = await flow.claim('only')
  const outputOf = (runId: string) => outputs[runIds.indexOf(runId)]!
  await flow.work('only', { reports: claimed.map((task) => completed(task, outputOf(task.runId))) })
  const runs = await Promise.all(runIds.map((runId) => flow.run(runId)))
  expect(runs.map(({ output }) => (output as { only: Json }).only)).toEqual(outputs)
})
