import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'

const database = await testDatabase()
const core = new StarflowSql(database.sql)
const flow = new Flow<number>({ slug: 'glance' }).step({ slug: 'a' }, (n) => n)
await core.ensureFlowCompiled({
  ...{ flowSlug: 'glance', shape: extractFlowShape(flow), queueMode: 'flow', routeMap: null },
})
await core.startFlows('glance', [1, 2])
await database.sql`select starflow.sample_queues()`

test('the overview tells open runs, what was started, and queues in trouble', async () => {
  const { exitCode, stdout } = await starflow('overview', '--json', '--database-url', database.url)
  expect(exitCode).toBe(0)
  const { runs, queuesInTrouble, livenessProblems, liveWorkers, runners, outbox } = JSON.parse(stdout)
  expect(runs.open).toEqual({ queued: 0, running: 2, paused: 0 })
  expect(queuesInTrouble).toMatchObject([{ queueName: 'glance', troubles: ['no_worker'], depth: 2 }])
  expect([livenessProblems, liveWorkers]).toEqual([[], 0])
  expect([runners, outbox]).toEqual([{ live: 0, capacity: 0, runs: 0 }, null])
  const text = await starflow('overview', '--database-url', database.url)
  expect(text.stdout).toContain('glance: no worker')
})

test('the overview tells runners that live, with what they hold, and how far the warm tier is behind', async () => {
  const { sql } = database
  await sql`select starflow.set_mirroring(true)`
  await sql`select starflow.heartbeat('r1', 30000, 10)`
  await sql`select starflow.enqueue_run(run_id => gen_random_uuid(), template_id => 'glance', workspace_id => 'shop', env => 'prod', input => '1')`
  const { runners, outbox } = JSON.parse((await starflow('overview', '--json', '--database-url', database.url)).stdout)
  expect(runners).toEqual({ live: 1, capacity: 10, runs: 0 })
  expect(outbox).toEqual({ unapplied: 1, oldestMs: expect.any(Number), asOf: expect.any(String) })
  await sql`select starflow.set_mirroring(false)`
  const text = await starflow('overview', '--database-url', database.url)
  expect(text.stdout).toContain('live runners  1, which hold 0 runs of 10 at most')
})

test('the history of a queue is told minute by minute', async () => {
  const { stdout } = await starflow('queues', 'history', 'glance', '--json', '--database-url', database.url)
  expect(JSON.parse(stdout)).toMatchObject({ queue: 'glance', samples: [{ depth: 2, liveWorkers: 0, done: null }] })
})

test('flows are listed with what is open of them, and functions with the error of their last start', async () => {
  await core.trackWorkerFunction('glance')
  await core.reportStartFailure('glance', 'FlowShapeMismatchError: another shape\nand more')
  const look = async (...args: string[]) => {
    const { stdout } = await starflow(...args, '--database-url', database.url)
    return stdout
  }
  expect(JSON.parse(await look('flows', 'list', '--json'))).toMatchObject({
    flows: [
      {
        ...{ flow: 'glance', queueMode: 'flow', openRuns: 2, openWaits: 0, liveWorkers: 0, steps: [{ step: 'a' }] },
        schedules: [],
      },
    ],
  })
  expect(await look('flows', 'list')).toMatch(/^glance +one +a +2 +0 +0$/m)
  expect(JSON.parse(await look('workers', '--json'))).toMatchObject({
    ...{ workers: [], functions: [{ functionName: 'glance', failedStarts: 1, liveWorkers: 0 }] },
  })
  expect(await look('workers')).toMatch(/^glance +http +0 +FlowShapeMismatchError: another shape$/m)
})
