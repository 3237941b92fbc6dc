import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const summary = async (slug: string) => (await sql`select pgflow.flow_data_summary(${slug}) as found`)[0]!.found

describe('flow_data_summary counts', () => {
  test('runs by status, tasks, and messages and archives of each private queue', async () => {
    const steps = shape({ list: { maxAttempts: 1 }, each: { map: true, after: ['list'] } })
    const flow = await CompiledFlow.compileShape(sql, 'counted', steps)
    const [, , cancelled] = await flow.start('good', 'good', 'cancelled', 'bad')
    await sql`select pgflow.cancel_run(${cancelled!})`
    await flow.drain((task) => {
      if (task.flowInput === 'bad') return new Error('bad')
      return task.stepSlug === 'list' ? [1, 2] : 1
    })
    await flow.start('open')
    expect(await summary('counted')).toEqual({
      flowSlug: 'counted',
      queueMode: 'step',
      runs: { completed: 2, cancelled: 1, failed: 1, started: 1 },
      tasks: 9,
      queues: [
        { queueName: 'counted__each', messages: 0, archived: 4 },
        { queueName: 'counted__list', messages: 1, archived: 4 },
      ],
      liveWorkers: [],
    })
  })

  test('the one queue of a plain flow, also without steps', async () => {
    await CompiledFlow.compileShape(sql, 'Plain', shape({ a: {}, b: {} }), 'flow')
    await CompiledFlow.compileShape(sql, 'empty', shape({}), 'flow')
    for (const [slug, queueName] of [
      ['Plain', 'plain'],
      ['empty', 'empty'],
    ] as const) {
      expect(await summary(slug)).toMatchObject({
        runs: {},
        tasks: 0,
        queues: [{ queueName, messages: 0, archived: 0 }],
      })
    }
  })

  test('workers that are alive, a deprecated one that still works too, and none that has stopped or is silent', async () => {
    const flow = await CompiledFlow.compileShape(sql, 'served', shape({ a: {} }))
    const register = async (functionName: string) => {
      const workerId = crypto.randomUUID()
      await flow.core.registerWorker({ workerId, queueName: 'served__a', functionName })
      return workerId
    }
    const working = await register('working')
    const leaving = await register('leaving')
    await flow.core.deprecateWorker(leaving)
    await flow.core.markWorkerStopped(await register('stopped'))
    const silent = await register('silent')
    await sql`update pgflow.workers set last_heartbeat_at = now() - interval '1 minute' where worker_id = ${silent}`
    expect((await summary('served')).liveWorkers).toEqual([
      { workerId: leaving, functionName: 'leaving', queueName: 'served__a' },
      { workerId: working, functionName: 'working', queueName: 'served__a' },
    ])
  })

  test('nothing of a queue that was dropped by hand', async () => {
    await CompiledFlow.compileShape(sql, 'dropped', shape({ a: {}, b: {} }))
    await sql`select pgmq.drop_queue('dropped__a')`
    expect((await summary('dropped')).queues).toEqual([
      { queueName: 'dropped__a', messages: null, archived: null },
      { queueName: 'dropped__b', messages: 0, archived: 0 },
    ])
  })
})

test('flow_data_summary names an unknown flow', async () => {
  expect(await refusal(summary('nowhere'))).toMatchObject({ code: 'SF201', message: 'Flow "nowhere" does not exist.' })
})

test('what was counted is not compiled anew before the transaction ends', async () => {
  await CompiledFlow.compileShape(sql, 'held', shape({ a: {} }))
  const compiling = database.connect({ settings: { application_name: 'compiling' } })
  let late: PromiseLike<readonly { status: string }[]> | undefined
  await sql.begin(async (tx) => {
    await tx`select pgflow.flow_data_summary('held')`
    late = compiling<{ status: string }[]>`
      select pgflow.ensure_flow_compiled('held', ${JSON.stringify(shape({ a: {} }))}::text::jsonb, 'step') ->> 'status' as status`.execute()
    await untilBlocked(sql, 'compiling')
    await tx`select pgflow.delete_flow_and_data('held')`
  })
  expect(await late).toEqual([{ status: 'compiled' }])
  await compiling.end()
})
