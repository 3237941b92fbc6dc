import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { StarflowSql, type TaskReport } from '../../src/index.ts'
import { CompiledFlow, completed } from '../support/compiled-flow.ts'
import { recordEvents, sentEventNames } from '../support/events.ts'
import { isLockTimeout } from '../support/killable-client.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { shape } from '../support/shape.ts'

const database = await testDatabase()
const { sql } = database

const ELEMENTS = 10_000
const CLIENTS = 16
const BATCH = 50

afterAll(() => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
})

/** All want the same run: a call that has waited for it as long as it may comes again, as a worker's does. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
  }
}

test('a map of 10 000 that 16 clients work on completes once, with every output in its place', async () => {
  await recordEvents(database)
  const flow = await CompiledFlow.compileShape(sql, 'wide', shape({ each: { map: true }, join: { after: ['each'] } }))
  const [runId] = await flow.start(Array.from({ length: ELEMENTS }, (_, n) => ({ n })))
  const accepted: string[] = []
  const handlerStarts = new Map<string, number>()
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const connection = database.connect()
    const core = new StarflowSql(connection)
    let reports: TaskReport[] = []
    let wave = 0
    do {
      // Sizes that differ, so that clients meet in all orders.
      const call = {
        workerId: flow.workerId,
        reports,
        queueName: flow.queue('each'),
        flowSlug: flow.slug,
        stepSlug: 'each',
        qty: BATCH - ((index + wave++) % 7),
        onUnsupported: 'skip' as const,
      }
      const { claimed, refused } = await again(() => core.settleAndClaim(call))
      expect(refused).toEqual([])
      accepted.push(...reports.map((report) => `${report.runId}/${report.stepSlug}/${report.taskIndex}`))
      reports = claimed.map((task) => {
        const name = `${task.runId}/${task.stepSlug}/${task.taskIndex}`
        handlerStarts.set(name, (handlerStarts.get(name) ?? 0) + 1)
        return completed(task, { m: (task.input as { n: number }).n })
      })
    } while (reports.length > 0)
    await connection.end()
  })
  await Promise.all(clients)

  expect(await flow.steps(runId!)).toEqual({ each: 'completed', join: 'started' })
  const [join, ...more] = await flow.claim('join')
  expect(more).toEqual([])
  expect(join!.input).toEqual({ each: Array.from({ length: ELEMENTS }, (_, m) => ({ m })) })
  await flow.core.settleTasks(flow.workerId, [completed(join!, 'done')])
  accepted.push(`${runId}/join/0`)
  handlerStarts.set(`${runId}/join/0`, 1)
  expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { join: 'done' } })
  expect(await sentEventNames(sql, runId!)).toEqual([
    'run:started',
    'step:each:started',
    'step:each:completed',
    'step:join:started',
    'step:join:completed',
    'run:completed',
  ])
  await expectAllWell(sql, { accepted, handlerStarts, noConnectionWasCut: true, events: true })
})
