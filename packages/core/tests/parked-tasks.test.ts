import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { Actor } from './support/interleaving.ts'
import { expectAllWell } from './support/oracle.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const HOUR = 3600
const DAY = 24 * HOUR

let count = 0
const compile = (steps: Record<string, StepSketch>) =>
  CompiledFlow.compileShape(sql, `parked${++count}`, shape(steps, { baseDelay: 0 }))
const startIn = async (flow: CompiledFlow, seconds: number, inputs = 1) => {
  const rows = await sql<{ run_id: string }[]>`
    select s.run_id from generate_series(1, ${inputs}) n,
      pgflow.start_flow(${flow.slug}, to_jsonb(n), start_at => clock_timestamp() + make_interval(secs => ${seconds})) s`
  return rows.map((row) => row.run_id)
}
const parked = async (flow: CompiledFlow, step = 'a') =>
  (await sql`select from pgflow.parked_tasks where queue_name = ${flow.queue(step)}`).length
/** Where the tasks of a step are: in the queue, and parked. */
const places = async (flow: CompiledFlow, step = 'a') => [await flow.depth(step), await parked(flow, step)]
const recover = () => sql`select pgflow.requeue_stalled_tasks()`
const around = (seconds: number) => [
  expect.toSatisfy((hidden: number) => hidden > seconds - 30 && hidden <= seconds + 1),
]

afterEach(() => expectAllWell(sql))

describe('a task that is due in more than an hour is parked, without a message', () => {
  test('by the start that was asked for', async () => {
    const flow = await compile({ a: {}, each: { map: true } })
    await sql`select pgflow.start_flow(${flow.slug}, '[1, 2]', start_at => now() + interval '7 days')`
    expect([await places(flow), await places(flow, 'each')]).toEqual([
      [0, 1],
      [0, 2],
    ])
    expect(await sql`select status, message_id from pgflow.step_tasks where flow_slug = ${flow.slug}`).toEqual(
      Array.from({ length: 3 }, () => ({ status: 'queued', message_id: null })),
    )
    expect(await flow.claim('a')).toEqual([])
  })

  test('by the start delay of its step, beside one that is due now', async () => {
    const flow = await compile({ a: { startDelay: DAY }, b: {} })
    await flow.start({})
    expect([await places(flow), await places(flow, 'b')]).toEqual([
      [0, 1],
      [1, 0],
    ])
  })

  test('by the delay of its retry: its message goes', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [failed(task!, { retryDelaySeconds: 5 * HOUR })])
    expect(await places(flow)).toEqual([0, 1])
    expect(await flow.archived('a')).toBe(0)
    await flow.age(runId!, 5 * HOUR)
    await flow.claim('a')
    expect(await flow.claim('a')).toMatchObject([{ runId, attempt: 2 }])
  })

  test('also where a clean-up by hand has left it there, by a retry and by the start of its step', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'], startDelay: DAY } })
    const [runId] = await flow.start({})
    const leave = (step: string) => sql`
      insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
      values ('elsewhere', now(), ${runId!}, ${step}, 0)`
    const [task] = await flow.claim('a')
    await leave('a')
    const retry = [failed(task!, { retryDelaySeconds: 5 * HOUR })]
    expect(await flow.core.settleTasks(flow.workerId, retry)).toMatchObject([{ accepted: true }])
    expect(await places(flow)).toEqual([0, 1])
    await flow.age(runId!, 5 * HOUR)
    await flow.claim('a')
    const [again] = await flow.claim('a')
    await leave('b')
    expect(await flow.core.settleTasks(flow.workerId, [completed(again!, 1)])).toMatchObject([{ accepted: true }])
    expect(await places(flow, 'b')).toEqual([0, 1])
  })

  test('and within the hour it is a hidden message, as the released interface shows it', async () => {
    const flow = await compile({ a: {} })
    await startIn(flow, HOUR - 60)
    expect(await places(flow)).toEqual([1, 0])
    expect(await flow.hidden('a')).toEqual(around(HOUR - 60))
  })
})

describe('its message is sent', () => {
  test('by a claim that finds nothing else, once it is due, and then the run goes on', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, DAY)
    await flow.age(runId!, DAY - 30)
    expect(await flow.claim('a')).toEqual([])
    expect(await places(flow)).toEqual([0, 1])
    await flow.age(runId!, 30)
    expect(await flow.claim('a')).toEqual([])
    expect(await places(flow)).toEqual([1, 0])
    await flow.drain(() => 1)
    expect((await flow.run(runId!)).status).toBe('completed')
  })

  test('by the beat of a worker whose queue is never empty', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, DAY)
    await flow.start(1, 2)
    await flow.age(runId!, DAY)
    await flow.claim('a', 1)
    expect(await parked(flow)).toBe(1)
    await sql`update pgflow.workers set last_heartbeat_at = last_heartbeat_at - interval '1 minute' where worker_id = ${flow.workerId}`
    expect(await flow.claim('a', 1)).toHaveLength(1)
    expect(await parked(flow)).toBe(0)
  })

  test('by the recovery, up to a minute early, and hidden until then', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, DAY)
    await flow.age(runId!, DAY - 90)
    await recover()
    expect(await places(flow)).toEqual([0, 1])
    await flow.age(runId!, 45)
    await recover()
    expect(await places(flow)).toEqual([1, 0])
    expect(await flow.hidden('a')).toEqual(around(45))
    expect(await flow.claim('a')).toEqual([])
  })

  test('not while its queue is gone, which holds up no other queue, and after it was made again', async () => {
    const gone = await compile({ a: {} })
    const other = await compile({ a: {} })
    for (const flow of [gone, other]) await flow.age((await startIn(flow, DAY))[0]!, DAY)
    await sql`select pgmq.drop_queue(${gone.queue('a')})`
    await recover()
    expect([await parked(gone), await places(other)]).toEqual([1, [1, 0]])
    await sql`select pgflow.restore_queues()`
    await recover()
    expect(await places(gone)).toEqual([1, 0])
  })

  test('whatever hinders another queue, whose tasks stay parked until it is gone', async () => {
    const hindered = await compile({ a: {} })
    const other = await compile({ a: {} })
    for (const flow of [hindered, other]) await flow.age((await startIn(flow, DAY))[0]!, DAY)
    await sql.unsafe(`alter table pgmq.q_${hindered.queue('a')} add constraint hindrance check (false)`)
    await recover()
    expect([await places(hindered), await places(other)]).toEqual([
      [0, 1],
      [1, 0],
    ])
    await sql.unsafe(`alter table pgmq.q_${hindered.queue('a')} drop constraint hindrance`)
    await recover()
    expect(await places(hindered)).toEqual([1, 0])
  })

  test('with an id that no task has, where the ids of its queue began anew', async () => {
    const flow = await compile({ a: {} })
    await flow.start(1)
    await flow.drain(() => 1)
    const [runId] = await startIn(flow, DAY)
    await sql`select pgmq.drop_queue(${flow.queue('a')}), pgmq.create(${flow.queue('a')})`
    await flow.age(runId!, DAY)
    await flow.claim('a')
    expect(await flow.claim('a')).toMatchObject([{ runId }])
  })

  test('for no task that is there no more', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, DAY)
    await sql`update pgflow.parked_tasks set due_at = now() where run_id = ${runId!}`
    await sql`delete from pgflow.step_tasks where run_id = ${runId!}`
    await recover()
    expect(await places(flow)).toEqual([0, 0])
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  })
})

describe('a parked task', () => {
  test('is a next actor: neither audit nor repair touches it', async () => {
    const flow = await compile({ a: {} })
    await startIn(flow, DAY)
    expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
    expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 0 }])
    expect(await places(flow)).toEqual([0, 1])
  })

  test('that is in no place is parked again by a repair, for when it was due', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, 7 * DAY)
    await sql`delete from pgflow.parked_tasks where run_id = ${runId!}`
    expect(await sql`select run_id from pgflow.liveness_audit`).toEqual([{ run_id: runId }])
    expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 1 }])
    expect(await flow.hidden('a')).toEqual(around(7 * DAY))
  })

  test('ends with its run when that is cancelled, and is parked again for its time when that is retried', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, DAY)
    await sql`select pgflow.cancel_run(${runId!})`
    expect(await places(flow)).toEqual([0, 0])
    await sql`select pgflow.retry_run(${runId!})`
    expect(await flow.hidden('a')).toEqual(around(DAY))
    expect(await places(flow)).toEqual([0, 1])
  })

  test('ends with its step when another element of its map fails for good', async () => {
    const flow = await compile({ each: { map: true, whenExhausted: 'skip' } })
    const [runId] = await flow.start([1, 2])
    const [first, second] = await flow.claim('each')
    await flow.core.settleTasks(flow.workerId, [failed(first!, { retryDelaySeconds: DAY })])
    expect(await places(flow, 'each')).toEqual([1, 1])
    await flow.core.settleTasks(flow.workerId, [failed(second!, { permanent: true })])
    expect(await places(flow, 'each')).toEqual([0, 0])
    expect((await flow.run(runId!)).status).toBe('completed')
  })

  test('goes with its flow', async () => {
    const flow = await compile({ a: {} })
    await startIn(flow, DAY, 3)
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
    expect(await parked(flow)).toBe(0)
  })

  test('is counted apart from the messages of its queue', async () => {
    const flow = await compile({ a: {} })
    await startIn(flow, DAY, 3)
    await flow.start(1)
    expect(await sql`select depth, parked from starflow.list_queues() where queue_name = ${flow.queue('a')}`).toEqual([
      { depth: 1, parked: 3 },
    ])
  })

  test('takes no report of a worker', async () => {
    const flow = await compile({ a: {} })
    await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [failed(task!, { retryDelaySeconds: DAY })])
    expect(await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])).toMatchObject([{ accepted: false }])
    expect(await places(flow)).toEqual([0, 1])
  })
})

describe('while another call holds its run', () => {
  /** A parked task that is due, and both hands. */
  async function due() {
    const flow = await compile({ a: {} })
    const [runId] = await startIn(flow, DAY)
    await flow.age(runId!, DAY)
    return { flow, runId: runId!, first: new Actor(database), second: new Actor(database) }
  }

  test.each(['cancel_run', 'retry_run'])('by %s no message is sent, and nobody waits', async (call) => {
    const { flow, runId, first } = await due()
    const held = await first.hold((_, tx) => tx.unsafe(`select pgflow.${call}($1)`, [runId]))
    await recover()
    expect(await flow.claim('a')).toEqual([])
    expect(await flow.depth('a')).toBe(0)
    await held.commit()
    await recover()
    expect(await places(flow)).toEqual(call === 'cancel_run' ? [0, 0] : [1, 0])
  })

  test('that sends its message, a cancellation waits and takes the message away', async () => {
    const { flow, runId, first, second } = await due()
    const sending = await first.hold((_, tx) => tx`select pgflow.requeue_stalled_tasks()`)
    const cancelling = await second.waits((_, tx) => tx`select pgflow.cancel_run(${runId})`)
    await sending.commit()
    await cancelling.end
    expect(await places(flow)).toEqual([0, 0])
    expect(await flow.archived('a')).toBe(1)
  })

  test('that sends its message, a deletion waits and takes all of it', async () => {
    const { flow, first, second } = await due()
    const sending = await first.hold((_, tx) => tx`select pgflow.requeue_stalled_tasks()`)
    const deleting = await second.waits((_, tx) => tx`select pgflow.delete_flow_and_data(${flow.slug})`)
    await sending.commit()
    await deleting.end
    expect(await parked(flow)).toBe(0)
  })

  test('that sends its message and is cut off, it stays parked', async () => {
    const { flow, first } = await due()
    const sending = await first.hold((_, tx) => tx`select pgflow.requeue_stalled_tasks()`)
    await sending.rollback()
    expect(await places(flow)).toEqual([0, 1])
  })

  test('that sends its message, another recovery and claims send none', async () => {
    const { flow, first } = await due()
    const sending = await first.hold((_, tx) => tx`select pgflow.requeue_stalled_tasks()`)
    await recover()
    expect(await flow.claim('a')).toEqual([])
    await sending.commit()
    expect(await places(flow)).toEqual([1, 0])
  })
})

test('recoveries, claims, cancellations and retries at once send each parked task once, and every run ends', async () => {
  const flow = await compile({ a: {} })
  const runIds = await startIn(flow, DAY, 120)
  for (const runId of runIds) await flow.age(runId, DAY)
  const clients = Array.from({ length: 6 }, () => new Actor(database))
  await Promise.all(
    clients.map(async ({ core, sql: own }, hand) => {
      for (let turn = 0; turn < 40; turn++) {
        const runId = runIds[(turn * 7 + hand * 11) % runIds.length]!
        if (hand < 2) await own`select pgflow.requeue_stalled_tasks()`
        else if (hand === 2) await own`select pgflow.cancel_run(${runId})`
        else if (hand === 3) await own`select pgflow.retry_run(${runId})`
        else {
          const { claimed } = await core.settleAndClaim({
            ...{ workerId: flow.workerId, reports: [], queueName: flow.queue('a'), flowSlug: flow.slug, stepSlug: 'a' },
            ...{ qty: 5, onUnsupported: 'skip' },
          })
          await core.settleTasks(
            flow.workerId,
            claimed.map((task) => completed(task, 1)),
          )
        }
      }
    }),
  )
  for (const runId of runIds) await sql`select pgflow.retry_run(${runId})`
  await recover()
  // A claim that met a task while another call had it has hidden its message for some seconds.
  await flow.reveal('a')
  await flow.drain(() => 1)
  expect(await sql`select distinct status from pgflow.runs where flow_slug = ${flow.slug}`).toEqual([
    { status: 'completed' },
  ])
})

test('a claim looks at as many pages with 20 000 tasks that are due in a week as with none', async () => {
  const flow = await compile({ a: { map: true } })
  const pagesOfClaim = async () => {
    await flow.start([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const [row] = await sql<[{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }]>`
      explain (analyze, buffers, format json)
      select * from pgflow.settle_and_claim(${flow.workerId}::uuid, '[]', ${flow.queue('a')}, ${flow.slug}, 10, 'a')`
    const plan = row['QUERY PLAN'][0].Plan
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
  }
  // The least of several: a connection that plans anew reads the catalog, too.
  const leastPages = async () => {
    const rounds: number[] = []
    for (let round = 0; round < 8; round++) rounds.push(await pagesOfClaim())
    return Math.min(...rounds)
  }
  const before = await leastPages()
  const input = sql`(select jsonb_agg(n) from generate_series(1, 20000) n)`
  await sql`select count(*) from pgflow.start_flow(${flow.slug}, ${input}, start_at => now() + interval '7 days')`
  expect(await parked(flow)).toBe(20_000)
  expect(await leastPages()).toBeLessThan(1.5 * before)
  await sql`select pgflow.delete_flow_and_data(${flow.slug})`
})
