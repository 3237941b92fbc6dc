import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from '../support/compiled-flow.ts'
import { Actor } from '../support/interleaving.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { shape } from '../support/shape.ts'

const database = await testDatabase()
const { sql } = database

const STEPS = { a: {}, b: { after: ['a'] }, c: { after: ['a'] }, d: { after: ['b', 'c'] } }
const compile = () => CompiledFlow.compileShape(sql, 'doomed', shape(STEPS, { baseDelay: 0 }))
const remove = (connection: Actor['sql']) => connection`select pgflow.delete_flow_and_data('doomed')`

afterAll(() => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
})

const remains = async () => {
  const [row] = await sql<[{ runs: number; tasks: number; queues: number }]>`
    select (select count(*)::integer from pgflow.runs) as runs, (select count(*)::integer from pgflow.step_tasks) as tasks,
           (select count(*)::integer from pgmq.list_queues() where queue_name like 'doomed%') as queues`
  return row
}
const NOTHING = { runs: 0, tasks: 0, queues: 0 }

test('a deletion that waits for a start takes the started run with it', async () => {
  await compile()
  const starting = await new Actor(database).hold((core) => core.startFlows('doomed', [1, 2]))
  const deleting = await new Actor(database).waits((_, connection) => remove(connection))
  await starting.commit()
  await deleting.end
  expect(await remains()).toEqual(NOTHING)
})

test('a start that waits for a deletion is told that there is no such flow', async () => {
  await compile()
  const deleting = await new Actor(database).hold((_, connection) => remove(connection))
  const starting = await new Actor(database).waits((core) => core.startFlows('doomed', [1, 2]))
  await deleting.commit()
  await expect(starting.end).rejects.toMatchObject({ code: 'SF201' })
  expect(await remains()).toEqual(NOTHING)
})

test('a claim during a deletion gets nothing, waits for nobody, and is told afterwards', async () => {
  const flow = await compile()
  await flow.start(1)
  const deleting = await new Actor(database).hold((_, connection) => remove(connection))
  const { core } = new Actor(database, { lock_timeout: '100ms' })
  const claim = () =>
    core.settleAndClaim({
      workerId: flow.workerId,
      reports: [],
      queueName: flow.queue('a'),
      flowSlug: flow.slug,
      stepSlug: 'a',
      qty: 5,
      onUnsupported: 'skip',
    })
  expect(await claim()).toMatchObject({ worker: 'running', claimed: [] })
  await deleting.commit()
  await expect(claim()).rejects.toMatchObject({ code: 'SF302' })
})

test('a deletion that waits for a settlement takes what the settlement started with it', async () => {
  const flow = await compile()
  await flow.start(1)
  const [task] = await flow.claim('a')
  const settling = await new Actor(database).hold((core) => core.settleTasks(flow.workerId, [completed(task!, 1)]))
  const deleting = await new Actor(database).waits((_, connection) => remove(connection))
  await settling.commit()
  await deleting.end
  expect(await remains()).toEqual(NOTHING)
})

test('a settlement that waits for a deletion finds no task', async () => {
  const flow = await compile()
  await flow.start(1)
  const [task] = await flow.claim('a')
  const deleting = await new Actor(database).hold((_, connection) => remove(connection))
  const settling = await new Actor(database).waits((core) => core.settleTasks(flow.workerId, [completed(task!, 1)]))
  await deleting.commit()
  expect((await settling.end).map((result) => result.reason)).toEqual(['unknown task'])
})

test('a deletion that waits for a repair holds nothing that the repair needs', async () => {
  const flow = await compile()
  await flow.start(1)
  const repair = (connection: Actor['sql']) => connection`select pgflow.repair_liveness() as sent`
  const repairing = await new Actor(database).hold(async (_, connection) => {
    await repair(connection)
    const deleting = await new Actor(database).waits((_core, other) => remove(other))
    // Only now has the repair a reason to lock the run.
    await connection`delete from pgmq.q_doomed__a`
    return { deleting, sent: await repair(connection) }
  })
  expect(repairing.result.sent).toEqual([{ sent: 1 }])
  await repairing.commit()
  await repairing.result.deleting.end
  expect(await remains()).toEqual(NOTHING)
})

test('a repair during a deletion leaves that flow, and puts others right', async () => {
  await (await compile()).start(1)
  const other = await CompiledFlow.compileShape(sql, 'spared', shape({ a: {} }))
  await other.start(1)
  await sql`delete from pgmq.q_spared__a`
  const deleting = await new Actor(database).hold((_, connection) => remove(connection))
  expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 1 }])
  await deleting.commit()
  await sql`select pgflow.delete_flow_and_data('spared')`
  expect(await remains()).toEqual(NOTHING)
})

test('recovery leaves a flow that is being deleted, and puts back what stalled in others, without waiting', async () => {
  await (await compile()).start(1)
  const other = await CompiledFlow.compileShape(sql, 'spared', shape({ a: { timeout: 10 } }))
  await other.start(1)
  await other.claim('a')
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
    where flow_slug = 'spared'`
  await other.reveal('a')
  const deleting = await new Actor(database).hold((_, connection) => remove(connection))
  const impatient = database.connect({ settings: { lock_timeout: '5s' } })
  expect(await impatient`select pgflow.requeue_stalled_tasks() as requeued`).toEqual([{ requeued: 1 }])
  await deleting.commit()
  await sql`select pgflow.delete_flow_and_data('spared')`
  expect(await remains()).toEqual(NOTHING)
})

test('samples of queues leave those of a flow that is being deleted, and do not wait for it', async () => {
  await compile()
  const deleting = await new Actor(database).hold((_, connection) => remove(connection))
  expect(await sql`select starflow.sample_queues() as count`).toEqual([{ count: 0 }])
  await deleting.commit()
  expect(await remains()).toEqual(NOTHING)
})

test('starts, claims and settlements during deletions and compiles end in clean errors, and leave nothing behind', async () => {
  const deadline = Date.now() + 4_000
  const errors = new Map<string, string>()
  const counts = { started: 0, completed: 0, deleted: 0 }
  let isOver = false
  const until = async (work: () => Promise<void>) => {
    while (!isOver) {
      await work().catch((error: { code?: string; message: string }) => {
        errors.set(error.code ?? 'none', error.message)
      })
    }
  }
  const first = await compile()
  const starters = [1, 2, 3].map(() => {
    const { core } = new Actor(database)
    return until(async () => {
      counts.started += (await core.startFlows('doomed', [1, 2, 3, 4, 5])).length
    })
  })
  const workers = [1, 2, 3, 4].map(() => {
    const { core } = new Actor(database)
    let reports: ReturnType<typeof completed>[] = []
    let turn = 0
    return until(async () => {
      const stepSlug = Object.keys(STEPS)[turn++ % 4]!
      const mine = reports
      reports = []
      const work = await core.settleAndClaim({
        workerId: first.workerId,
        reports: mine,
        queueName: first.queue(stepSlug),
        flowSlug: first.slug,
        stepSlug,
        qty: 5,
        onUnsupported: 'skip',
      })
      counts.completed += mine.length - work.refused.length
      reports = work.claimed.map((task) => completed(task, 1))
    })
  })
  try {
    // However slow the machine is: enough of both must have met.
    const isEnough = () =>
      Date.now() >= deadline + 40_000 || (Date.now() >= deadline && counts.deleted > 3 && counts.completed > 50)
    while (!isEnough()) {
      const before = counts.completed
      while (counts.completed < before + 30 && !isEnough()) await new Promise((resolve) => setImmediate(resolve))
      await remove(sql)
      counts.deleted += 1
      await compile()
    }
  } finally {
    isOver = true
    await Promise.all([...starters, ...workers])
  }
  await expectAllWell(sql)
  await remove(sql)
  expect(await remains()).toEqual(NOTHING)
  // SF201: no such flow. SF302: nor a route to claim from.
  expect(
    [...errors.keys()].filter((code) => !['SF201', 'SF302'].includes(code)).map((code) => [code, errors.get(code)]),
  ).toEqual([])
  expect(counts.deleted).toBeGreaterThan(3)
  expect(counts.completed).toBeGreaterThan(50)
})
