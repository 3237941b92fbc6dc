import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from '../support/compiled-flow.ts'
import { Actor } from '../support/interleaving.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { shape } from '../support/shape.ts'

// Calls that take many runs take them in the order of their ids, in whatever order they were given.
const database = await testDatabase()
const { sql } = database

let count = 0
const compile = () =>
  CompiledFlow.compileShape(sql, `bulk${++count}`, shape({ a: {} }, { baseDelay: 0, maxAttempts: 1 }))
const byId = (runIds: string[]) => [...runIds].sort()

afterAll(async () => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
  await expectAllWell(sql)
})

test.each(['cancel_runs', 'retry_runs'])(
  '%s waits for the first run and holds none of the others meanwhile',
  async (name) => {
    const flow = await compile()
    const [first, second] = byId(await flow.start(1, 2))
    const tasks = await flow.claim('a')
    const settle = name === 'cancel_runs' ? completed : failed
    const report = (runId: string) => settle(tasks.find((task) => task.runId === runId)!, null as never)
    const holding = await new Actor(database).hold((core) => core.settleTasks(flow.workerId, [report(first!)]))
    const bulk = await new Actor(database).waits(
      (_, connection) => connection`select run_id from ${connection(`pgflow.${name}`)}(${[second!, first!]}::uuid[])`,
    )
    // Whoever held the second run now would be waited for by this settlement, and would wait for the first.
    await flow.core.settleTasks(flow.workerId, [report(second!)])
    await holding.commit()
    expect((await bulk.end).map((row) => row.run_id)).toEqual([first, second])
    await flow.drain(() => 1)
  },
)

describe('the bulk calls', () => {
  test('cancel what is open with the reason, leave what has ended, and leave unknown ids out', async () => {
    const flow = await compile()
    const [open, done] = await flow.start('open', 'done')
    const task = (await flow.claim('a')).find(({ runId }) => runId === done)
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
    const given = [done!, open!, randomUUID(), open!]
    const runs = await sql`select run_id, status, cancel_reason from pgflow.cancel_runs(${given}::uuid[], 'enough')`
    expect(runs).toHaveLength(2)
    expect(runs).toEqual(
      expect.arrayContaining([
        { run_id: open, status: 'cancelled', cancel_reason: 'enough' },
        { run_id: done, status: 'completed', cancel_reason: null },
      ]),
    )
  })

  test('retry what has failed or was cancelled, and it ends', async () => {
    const flow = await compile()
    const [broken, cancelled] = await flow.start('broken', 'cancelled')
    await sql`select from pgflow.cancel_runs(${[cancelled!]}::uuid[])`
    await flow.drain(() => new Error('once'))
    expect(await sql`select status from pgflow.retry_runs(${[broken!, cancelled!]}::uuid[])`).toEqual([
      { status: 'started' },
      { status: 'started' },
    ])
    await flow.drain(() => 2)
    for (const runId of [broken!, cancelled!]) expect((await flow.run(runId)).output).toEqual({ a: 2 })
  })
})

test('two starts that name the same run ids in opposite orders wait for each other only one way', async () => {
  const flow = await compile()
  const [low, high] = byId([randomUUID(), randomUUID()])
  const holding = await new Actor(database).hold(async (core, connection) => {
    await core.startFlows(flow.slug, [1], [low!])
    return connection
  })
  const second = await new Actor(database).waits((core) => core.startFlows(flow.slug, [2, 1], [high!, low!]))
  await holding.result`select from pgflow.start_flows(${flow.slug}, '[2]', ${[high!]}::uuid[])`
  await holding.commit()
  expect(await second.end).toEqual([high, low])
  expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(2)
  await flow.drain(() => 1)
})
