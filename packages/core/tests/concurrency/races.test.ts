import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import type { ClaimedTask } from '../../src/index.ts'
import { CompiledFlow, completed, failed } from '../support/compiled-flow.ts'
import { recordEvents } from '../support/events.ts'
import { Actor, closeGate } from '../support/interleaving.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { type StepSketch, shape } from '../support/shape.ts'

/*
 * Each test forces one order of two connections: one holds its transaction open, the other is seen waiting, or is seen not
 * to wait. Afterwards the oracle looks at everything that all tests have left.
 */

const database = await testDatabase()
const { sql } = database

/** Waiting at all is an error for this one: a claim and a recovery take what is free. */
const NEVER_WAITS = { lock_timeout: '100ms' }

let count = 0
const compile = (steps: Record<string, StepSketch> = { a: {}, b: { after: ['a'] } }, options = {}) =>
  CompiledFlow.compileShape(sql, `race${++count}`, shape(steps, { baseDelay: 0, ...options }))

beforeAll(() => recordEvents(database))
afterEach(() => expectAllWell(sql, { events: true }))
afterAll(() => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
})

const started = async (flow: CompiledFlow, input: Parameters<CompiledFlow['start']>[0] = {}) => {
  const [runId] = await flow.start(input)
  const tasks = await flow.claim('a')
  return { runId: runId!, tasks, task: tasks[0]! }
}

const settle =
  (flow: CompiledFlow, report: ReturnType<typeof completed>, workerId = flow.workerId) =>
  (core: Actor['core']) =>
    core.settleTasks(workerId, [report])

const accepted = (results: readonly { accepted: boolean; reason: string | null }[]) =>
  results.map((result) => result.reason ?? 'accepted')

const claim = (flow: CompiledFlow, stepSlug: string, workerId: string) => (core: Actor['core']) =>
  core.settleAndClaim({
    workerId,
    reports: [],
    queueName: flow.queue(stepSlug),
    flowSlug: flow.slug,
    stepSlug,
    qty: 10,
    onUnsupported: 'skip',
  })

describe('of a completion and a failure of one attempt at the same time', () => {
  test.each([
    ['complete', 'fail'],
    ['fail', 'complete'],
  ] as const)('the first one counts: %s before %s', async (first, second) => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    const reports = { complete: completed(task, 1), fail: failed(task, { permanent: true }) }
    const earlier = await new Actor(database).hold(settle(flow, reports[first]))
    const later = await new Actor(database).waits(settle(flow, reports[second]))
    await earlier.commit()
    expect(accepted(earlier.result)).toEqual(['accepted'])
    const status = first === 'complete' ? 'completed' : 'failed'
    expect(accepted(await later.end)).toEqual([`already settled: task is ${status}`])
    expect((await flow.tasks(runId)).filter((row) => row.step_slug === 'a')).toMatchObject([
      { status, attempts_count: 1 },
    ])
    expect((await flow.tasks(runId)).filter((row) => row.step_slug === 'b')).toHaveLength(first === 'complete' ? 1 : 0)
  })

  test('the second one counts when the first is rolled back', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    const earlier = await new Actor(database).hold(settle(flow, completed(task, 1)))
    const later = await new Actor(database).waits(settle(flow, failed(task, { permanent: true })))
    await earlier.rollback()
    expect(accepted(await later.end)).toEqual(['accepted'])
    expect((await flow.run(runId)).status).toBe('failed')
  })

  test('one call with both accepts the completion alone', async () => {
    const flow = await compile()
    const { task } = await started(flow)
    const results = await flow.core.settleTasks(flow.workerId, [failed(task), completed(task, 1)])
    expect(accepted(results)).toEqual(['already settled: task is completed', 'accepted'])
  })

  test('without a fence, as released callers report, one of them counts too', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    const complete = `select from pgflow.complete_task($1::uuid, 'a', 0, '1'::jsonb)`
    const fail = `select from pgflow.fail_task($1::uuid, 'a', 0, 'boom', permanent => true)`
    const earlier = await new Actor(database).hold((_, connection) => connection.unsafe(complete, [task.runId]))
    const later = await new Actor(database).waits((_, connection) => connection.unsafe(fail, [task.runId]))
    await earlier.commit()
    await later.end
    expect(await flow.steps(runId)).toEqual({ a: 'completed', b: 'started' })
  })
})

describe('two elements of a map that complete at the same time', () => {
  test('complete their step once, with both outputs', async () => {
    const flow = await compile({ a: { map: true }, b: { after: ['a'] } })
    const { runId, tasks } = await started(flow, ['x', 'y'])
    const [x, y] = tasks
    const earlier = await new Actor(database).hold(settle(flow, completed(x!, x!.taskIndex)))
    const later = await new Actor(database).waits(settle(flow, completed(y!, y!.taskIndex)))
    await earlier.commit()
    expect(accepted(await later.end)).toEqual(['accepted'])
    expect(await flow.claim('b')).toMatchObject([{ runId, input: { a: [0, 1] } }])
  })

  test('and two parents of a step start it once', async () => {
    const flow = await compile({ a: {}, c: {}, b: { after: ['a', 'c'] } })
    const { runId, task } = await started(flow)
    const [other] = await flow.claim('c')
    const earlier = await new Actor(database).hold(settle(flow, completed(task, 1)))
    const later = await new Actor(database).waits(settle(flow, completed(other!, 2)))
    await earlier.commit()
    await later.end
    expect(await flow.claim('b')).toMatchObject([{ runId, input: { a: 1, c: 2 } }])
  })
})

describe('recovery and a completion', () => {
  test('recovery leaves a run that is being settled, without waiting for it', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.age(runId, 1000)
    const settling = await new Actor(database).hold(settle(flow, completed(task, 1)))
    expect(await new Actor(database, NEVER_WAITS).core.requeueStalledTasks()).toBe(0)
    await settling.commit()
    expect(await flow.steps(runId)).toEqual({ a: 'completed', b: 'started' })
  })

  test('a completion that waits for recovery is refused', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.age(runId, 1000)
    const recovery = await new Actor(database).hold((core) => core.requeueStalledTasks())
    const settling = await new Actor(database).waits(settle(flow, completed(task, 1)))
    await recovery.commit()
    expect(recovery.result).toBe(1)
    expect(accepted(await settling.end)).toEqual(['already settled: task is queued'])
    expect(await flow.claim('a')).toMatchObject([{ attempt: 2 }])
  })

  test('a completion that waits for recovery which ends the task is refused, and its run has failed', async () => {
    const flow = await compile(undefined, { maxAttempts: 1 })
    const { runId, task } = await started(flow)
    await flow.age(runId, 1000)
    const recovery = await new Actor(database).hold((core) => core.requeueStalledTasks())
    const settling = await new Actor(database).waits(settle(flow, completed(task, 1)))
    await recovery.commit()
    expect(accepted(await settling.end)).toEqual(['already settled: task is failed'])
    expect((await flow.run(runId)).status).toBe('failed')
  })

  test('a claim that meets a stalled task leaves it to the settlement that holds its run', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.age(runId, 1000)
    const settling = await new Actor(database).hold((core) => core.settleTasks(flow.workerId, [failed(task)]))
    // The settlement holds the message too: nothing is to be read, and nobody is waited for.
    const other = await flow.register(crypto.randomUUID())
    expect((await claim(flow, 'a', other)(new Actor(database, NEVER_WAITS).core)).claimed).toEqual([])
    await settling.commit()
    await flow.reveal('a')
    expect(await flow.claim('a')).toMatchObject([{ attempt: 2 }])
  })

  test('of a zombie and the next attempt, only the next one counts, in every order', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.age(runId, 1000)
    await flow.core.requeueStalledTasks()
    const [again] = await flow.claim('a')
    expect(accepted(await flow.core.settleTasks(flow.workerId, [completed(task, 'zombie')]))).toEqual([
      'stale attempt: the task is at attempt 2',
    ])
    const current = await new Actor(database).hold(settle(flow, completed(again!, 'current')))
    const zombie = await new Actor(database).waits(settle(flow, completed(task, 'zombie')))
    await current.commit()
    expect(accepted(await zombie.end)).toEqual(['task is completed'])
    expect(await flow.claim('b')).toMatchObject([{ input: { a: 'current' } }])
  })

  test('of a zombie that fails and the next attempt, only the next one counts, in every order', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.age(runId, 1000)
    await flow.core.requeueStalledTasks()
    const [again] = await flow.claim('a')
    const fails = failed(task, { permanent: true })
    expect(accepted(await flow.core.settleTasks(flow.workerId, [fails]))).toEqual([
      'stale attempt: the task is at attempt 2',
    ])
    const held = await new Actor(database).hold(settle(flow, fails))
    expect(accepted(held.result)).toEqual(['stale attempt: the task is at attempt 2'])
    const current = await new Actor(database).waits(settle(flow, completed(again!, 'current')))
    await held.commit()
    expect(accepted(await current.end)).toEqual(['accepted'])
    expect(await flow.steps(runId)).toEqual({ a: 'completed', b: 'started' })
  })
})

describe('a claim', () => {
  const ways: [
    string,
    Record<string, StepSketch>,
    (
      flow: CompiledFlow,
      runId: string,
      held: ClaimedTask,
    ) => (core: Actor['core'], sql: Actor['sql']) => PromiseLike<unknown>,
    string,
  ][] = [
    [
      'cancel',
      { a: { map: true } },
      (_, runId) => (_core, sql) => sql`select from pgflow.cancel_run(${runId})`,
      'cancelled',
    ],
    [
      'a failure',
      { a: { map: true } },
      (flow, _, held) => (core) => core.settleTasks(flow.workerId, [failed(held, { permanent: true })]),
      'cancelled',
    ],
    [
      'an exhausted skip',
      { a: { map: true, whenExhausted: 'skip' } },
      (flow, _, held) => (core) => core.settleTasks(flow.workerId, [failed(held, { permanent: true })]),
      'skipped',
    ],
  ]

  test.each(ways)(
    'that has claimed goes before %s, which then ends the claimed task',
    async (_, steps, end, status) => {
      const flow = await compile(steps)
      const [runId] = await flow.start(['x', 'y'])
      const [held] = await flow.claim('a', 1)
      const claiming = await new Actor(database).hold(claim(flow, 'a', flow.workerId))
      expect(claiming.result.claimed).toHaveLength(1)
      const ending = await new Actor(database).waits(end(flow, runId!, held!))
      await claiming.commit()
      await ending.end
      const other = claiming.result.claimed[0]!
      expect((await flow.tasks(runId!)).find((task) => task.task_index === other.taskIndex)).toMatchObject({
        status,
        attempts_count: 1,
      })
      expect(accepted(await flow.core.settleTasks(flow.workerId, [completed(other, 1)]))).toEqual([
        `already settled: task is ${status}`,
      ])
      expect(await flow.depth('a')).toBe(0)
    },
  )

  test.each(ways)('that comes during %s claims nothing and waits for nobody', async (_, steps, end, status) => {
    const flow = await compile(steps)
    const [runId] = await flow.start(['x', 'y'])
    const [held] = await flow.claim('a', 1)
    const ending = await new Actor(database).hold(end(flow, runId!, held!))
    expect((await claim(flow, 'a', flow.workerId)(new Actor(database, NEVER_WAITS).core)).claimed).toEqual([])
    await ending.commit()
    expect((await flow.tasks(runId!)).map((task) => task.status).sort()).toContain(status)
    expect(await flow.depth('a')).toBe(0)
  })

  test.each(ways)('that has read a message when %s takes its task lets go of it', async (_, steps, end, status) => {
    const flow = await compile(steps)
    const [runId] = await flow.start(['x', 'y'])
    const [held] = await flow.claim('a', 1)
    const claimer = new Actor(database)
    const open = await closeGate(database, flow.queue('a'), claimer)
    const claiming = await claimer.waits(claim(flow, 'a', flow.workerId))
    const ending = await new Actor(database).waits(end(flow, runId!, held!))
    await open()
    expect((await claiming.end).claimed).toEqual([])
    await ending.end
    expect((await flow.tasks(runId!)).map((task) => task.status).sort()).toContain(status)
    expect(await flow.depth('a')).toBe(0)
  })

  test('that has read a message when recovery takes its task lets go of it, and the task is not lost', async () => {
    const flow = await compile()
    const { runId } = await started(flow)
    await flow.age(runId, 1000)
    const claimer = new Actor(database)
    const open = await closeGate(database, flow.queue('a'), claimer)
    const claiming = await claimer.waits(claim(flow, 'a', flow.workerId))
    const recovery = await new Actor(database).waits((core) => core.requeueStalledTasks())
    await open()
    expect((await claiming.end).claimed).toEqual([])
    expect(await recovery.end).toBe(1)
    expect(await flow.claim('a')).toMatchObject([{ attempt: 2 }])
  })

  test('that has read a message when a retry of its run begins finds the task again later', async () => {
    const flow = await compile({ a: { map: true } })
    const [runId] = await flow.start(['x', 'y'])
    const [held] = await flow.claim('a', 1)
    await flow.core.settleTasks(flow.workerId, [failed(held!, { permanent: true })])
    const retrying = await new Actor(database).hold(
      (_, connection) => connection`select from pgflow.retry_run(${runId!})`,
    )
    expect((await claim(flow, 'a', flow.workerId)(new Actor(database, NEVER_WAITS).core)).claimed).toEqual([])
    await retrying.commit()
    expect((await flow.claim('a')).map((task) => [task.taskIndex, task.attempt]).sort()).toEqual(
      [
        [held!.taskIndex, 2],
        [1 - held!.taskIndex, 1],
      ].sort(),
    )
  })

  test('of another worker at the same time gets other tasks', async () => {
    const flow = await compile()
    await flow.start(1, 2, 3)
    const first = await new Actor(database).hold((core) =>
      core.settleAndClaim({
        workerId: flow.workerId,
        reports: [],
        queueName: flow.queue('a'),
        flowSlug: flow.slug,
        stepSlug: 'a',
        qty: 2,
        onUnsupported: 'skip',
      }),
    )
    const other = await flow.register(crypto.randomUUID())
    const second = await claim(flow, 'a', other)(new Actor(database, NEVER_WAITS).core)
    await first.commit()
    expect(second.claimed).toHaveLength(1)
    expect(new Set([...first.result.claimed, ...second.claimed].map((task) => task.runId)).size).toBe(3)
  })
})

describe('a duplicate delivery', () => {
  test('of a message that two claims see is run once', async () => {
    const flow = await compile()
    await flow.start({})
    const first = await new Actor(database).hold(claim(flow, 'a', flow.workerId))
    // Whoever reads past pgmq's own lock, as a restored or duplicated queue would, meets the locked task.
    const other = await flow.register(crypto.randomUUID())
    const second = await new Actor(database, NEVER_WAITS).sql`
      select * from pgflow.start_tasks(${flow.slug}, array[1::bigint], ${other}, ${flow.queue('a')}, 'a')`
    await first.commit()
    expect([first.result.claimed.length, second.length]).toEqual([1, 0])
  })

  test('of a message that comes back while its task runs consumes nothing and takes nothing', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.reveal('a')
    const other = await flow.register(crypto.randomUUID())
    const [one, two] = [new Actor(database), new Actor(database)]
    const again = await Promise.all([one, two].map((actor) => claim(flow, 'a', other)(actor.core)))
    expect(again.flatMap((work) => work.claimed)).toEqual([])
    expect(await flow.tasks(runId)).toMatchObject([{ status: 'started', attempts_count: 1 }])
    expect(accepted(await flow.core.settleTasks(flow.workerId, [completed(task, 1)]))).toEqual(['accepted'])
  })

  test('of a message whose task has ended is archived and runs nothing', async () => {
    const flow = await compile({ a: {} })
    const { task } = await started(flow)
    await flow.core.settleTasks(flow.workerId, [completed(task, 1)])
    await sql.unsafe(`
      insert into pgmq.q_${flow.queue('a')} (msg_id, vt, message) overriding system value
      select msg_id, now(), message from pgmq.a_${flow.queue('a')}`)
    await sql.unsafe(`delete from pgmq.a_${flow.queue('a')}`)
    expect(await flow.claim('a')).toEqual([])
    expect([await flow.depth('a'), await flow.archived('a')]).toEqual([0, 1])
  })
})

describe('a retry of a run', () => {
  const broken = async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    await flow.core.settleTasks(flow.workerId, [failed(task, { permanent: true })])
    return { flow, runId, task }
  }

  test('and a late report of the attempt that failed: the report is refused, before, while and after', async () => {
    const { flow, runId, task } = await broken()
    const late = settle(flow, completed(task, 'late'))
    expect(accepted(await late(flow.core))).toEqual(['already settled: task is failed'])
    const retrying = await new Actor(database).hold(
      (_, connection) => connection`select from pgflow.retry_run(${runId})`,
    )
    const meanwhile = await new Actor(database).waits(late)
    await retrying.commit()
    expect(accepted(await meanwhile.end)).toEqual(['already settled: task is queued'])
    const [again] = await flow.claim('a')
    expect(accepted(await late(flow.core))).toEqual(['stale attempt: the task is at attempt 2'])
    expect(accepted(await flow.core.settleTasks(flow.workerId, [completed(again!, 'again')]))).toEqual(['accepted'])
    expect(await flow.claim('b')).toMatchObject([{ input: { a: 'again' } }])
  })

  test('twice at once starts it again once', async () => {
    const { flow, runId } = await broken()
    const retry = (_: unknown, connection: Actor['sql']) =>
      connection<{ status: string }[]>`select status from pgflow.retry_run(${runId})`
    const first = await new Actor(database).hold(retry)
    const second = await new Actor(database).waits(retry)
    await first.commit()
    expect((await second.end).map((run) => run.status)).toEqual(['started'])
    expect(await flow.depth('a')).toBe(1)
    expect(await flow.claim('a')).toMatchObject([{ attempt: 2 }])
  })

  test('and a cancel of the same run: whoever comes later finds what the other has left', async () => {
    const { flow, runId } = await broken()
    const retrying = await new Actor(database).hold(
      (_, connection) => connection`select from pgflow.retry_run(${runId})`,
    )
    const cancelling = await new Actor(database).waits(
      (_, connection) => connection<{ status: string }[]>`select status from pgflow.cancel_run(${runId})`,
    )
    await retrying.commit()
    expect((await cancelling.end)[0]).toMatchObject({ status: 'cancelled' })
    expect(await flow.depth('a')).toBe(0)
  })
})

describe('a cancel and a settlement', () => {
  const cancel = (runId: string) => (_: unknown, connection: Actor['sql']) =>
    connection<{ status: string }[]>`select status from pgflow.cancel_run(${runId})`

  test('a run that completes first stays completed', async () => {
    const flow = await compile({ a: {} })
    const { runId, task } = await started(flow)
    const settling = await new Actor(database).hold(settle(flow, completed(task, 1)))
    const cancelling = await new Actor(database).waits(cancel(runId))
    await settling.commit()
    expect((await cancelling.end)[0]).toMatchObject({ status: 'completed' })
    expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { a: 1 } })
  })

  test('a step that the settlement has started meanwhile is cancelled with its message', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    const settling = await new Actor(database).hold(settle(flow, completed(task, 1)))
    const cancelling = await new Actor(database).waits(cancel(runId))
    await settling.commit()
    await cancelling.end
    expect((await flow.tasks(runId)).map((row) => [row.step_slug, row.status])).toEqual([
      ['a', 'completed'],
      ['b', 'cancelled'],
    ])
    expect(await flow.depth('b')).toBe(0)
  })

  test('a report that waits for the cancel is refused and starts nothing', async () => {
    const flow = await compile()
    const { runId, task } = await started(flow)
    const cancelling = await new Actor(database).hold(cancel(runId))
    const settling = await new Actor(database).waits(settle(flow, completed(task, 1)))
    await cancelling.commit()
    expect(accepted(await settling.end)).toEqual(['already settled: task is cancelled'])
    expect((await flow.tasks(runId)).map((row) => row.status)).toEqual(['cancelled'])
  })
})

test('settlements of the same runs in opposite orders wait for each other without a deadlock', async () => {
  const flow = await compile({ a: {}, c: {}, b: { after: ['a', 'c'] } })
  await flow.start(...Array.from({ length: 20 }, (_, n) => n))
  const [left, right] = [await flow.claim('a'), await flow.claim('c')]
  const byRun = (x: ClaimedTask, y: ClaimedTask) => (x.runId < y.runId ? -1 : 1)
  const first = new Actor(database)
  const second = new Actor(database)
  const third = await new Actor(database).hold(
    (_, connection) =>
      connection`select from pgflow.runs where flow_slug = ${flow.slug} order by run_id offset 10 limit 1 for update`,
  )
  const one = await first.waits((core) =>
    core.settleTasks(
      flow.workerId,
      [...left].sort(byRun).map((task) => completed(task, 1)),
    ),
  )
  const two = await second.waits((core) =>
    core.settleTasks(
      flow.workerId,
      [...right]
        .sort(byRun)
        .reverse()
        .map((task) => completed(task, 2)),
    ),
  )
  await third.commit()
  expect((await one.end).concat(await two.end).every((result) => result.accepted)).toBe(true)
  expect(await flow.claim('b')).toHaveLength(20)
})
