import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { Actor } from './support/interleaving.ts'
import { expectAllWell } from './support/oracle.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>, mode: 'flow' | 'step' = 'step') =>
  CompiledFlow.compileShape(sql, `live${++count}`, shape(steps, { baseDelay: 0 }), mode)
const audit = async () => await sql`select * from pgflow.liveness_audit order by kind, step_slug, task_index`
const repair = async () => (await sql<{ sent: number }[]>`select pgflow.repair_liveness() as sent`)[0]!.sent
const loseMessages = async (flow: CompiledFlow, step: string) =>
  await sql.unsafe(`delete from pgmq.q_${flow.queue(step)}`)
/** Queue tables belong to the extension, which only a superuser changes. */
const superuser = database.as('supabase_admin')
const dropQueueTable = async (kind: string, queue: string) => {
  await superuser.unsafe(`alter extension pgmq drop table pgmq.${kind}_${queue}`)
  await superuser.unsafe(`drop table pgmq.${kind}_${queue}`)
}
const putAway = async (flow: CompiledFlow) => await sql`select pgflow.delete_flow_and_data(${flow.slug})`

describe('liveness_audit is empty', () => {
  test('for runs that are open, waiting for a retry or a start, stalled, paused, failed, cancelled, skipped and done', async () => {
    const flow = await compile({
      a: { maxAttempts: 2, timeout: 10 },
      none: { map: true, after: ['a'] },
      each: { map: true, after: ['a'] },
      gate: { after: ['each'], if: { each: [7] } },
    })
    const inputs = ['queued', 'held', 'stalled', 'failing', 'broken', 'cancelled', 'done', 'halfway'] as const
    const runIds = await flow.start(...inputs)
    const run = Object.fromEntries(inputs.map((name, index) => [name, runIds[index]!])) as Record<
      (typeof inputs)[number],
      string
    >
    const first = await flow.claim('a')
    const task = (name: (typeof inputs)[number]) => first.find((each) => each.runId === run[name])!
    await flow.core.releaseTasks(flow.workerId, [{ ...task('queued'), started: false }])
    await flow.age(run.stalled, 100)
    await flow.core.settleTasks(flow.workerId, [
      failed(task('failing'), { retryDelaySeconds: 600 }),
      failed(task('broken'), { permanent: true }),
      completed(task('done'), []),
      completed(task('halfway'), [1, 2]),
    ])
    await sql`select pgflow.cancel_run(${run.cancelled})`
    await sql`select pgflow.start_flow(${flow.slug}, '"later"', start_at => now() + interval '1 hour')`
    await sql`select pgflow.pause_flow(${flow.slug})`
    expect(await audit()).toEqual([])
    expect(await sql`select distinct status from pgflow.runs order by 1`).toHaveLength(4)
    await expectAllWell(sql)
  })
})

describe('liveness_audit lists', () => {
  test('a queued task whose message is gone', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await loseMessages(flow, 'a')
    expect(await audit()).toEqual([
      {
        kind: 'task',
        flow_slug: flow.slug,
        run_id: runId,
        step_slug: 'a',
        task_index: 0,
        reason: `queued, but its message is not in queue ${flow.queue('a')}`,
      },
    ])
    await putAway(flow)
  })

  test('a started task whose message is gone only after its recovery boundary: until then its worker is the actor', async () => {
    const flow = await compile({ a: { timeout: 10 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await loseMessages(flow, 'a')
    await flow.age(runId!, 39)
    expect(await audit()).toEqual([])
    await flow.age(runId!, 2)
    expect(await audit()).toMatchObject([
      {
        kind: 'task',
        run_id: runId,
        reason: `started and past its recovery boundary, but its message is not in queue ${flow.queue('a')}`,
      },
    ])
    await putAway(flow)
  })

  test('every open task of a queue that was dropped', async () => {
    const flow = await compile({ each: { map: true }, other: {} })
    await flow.start([1, 2, 3])
    await sql`select pgmq.drop_queue(${flow.queue('each')})`
    expect(await audit()).toMatchObject([
      { kind: 'task', step_slug: 'each', task_index: 0 },
      { kind: 'task', step_slug: 'each', task_index: 1 },
      { kind: 'task', step_slug: 'each', task_index: 2 },
    ])
    await putAway(flow)
  })

  test('every open task of a queue that is being dropped, once that is committed', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [dropping, looking] = [new Actor(database), new Actor(database)]
    const drop = await dropping.hold((_core, held) => held`select pgmq.drop_queue(${flow.queue('a')})`)
    const look = await looking.waits((_core, held) => held`select run_id, reason from pgflow.liveness_audit`)
    await drop.commit()
    expect(await look.end).toEqual([
      { run_id: runId, reason: `queued, but its message is not in queue ${flow.queue('a')}` },
    ])
    await putAway(flow)
  })

  test('nothing of a flow that is being deleted, once that is committed', async () => {
    const flow = await compile({ a: {} })
    await flow.start({})
    const [deleting, looking] = [new Actor(database), new Actor(database)]
    const deletion = await deleting.hold((_core, held) => held`select pgflow.delete_flow_and_data(${flow.slug})`)
    const look = await looking.waits((_core, held) => held`select * from pgflow.liveness_audit`)
    await deletion.commit()
    expect(await look.end).toEqual([])
  })

  test('a task in a queue that no route names', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await sql`update pgflow.step_tasks set queue_name = 'elsewhere' where run_id = ${runId!}`
    expect(await audit()).toMatchObject([
      {
        kind: 'task',
        run_id: runId,
        step_slug: 'a',
        reason: `queued in queue elsewhere, but its step is served from queue ${flow.queue('a')}`,
      },
    ])
    await putAway(flow)
  })

  test('a task whose queue was edited by hand: it runs nowhere, holds up nothing, and goes on when it is repaired', async () => {
    const flow = await compile({ a: {}, b: {} })
    const [edited, other] = await flow.start('edited', 'other')
    const edit = (queue: string) => sql`
      update pgflow.step_tasks set queue_name = ${queue} where run_id = ${edited!} and step_slug = 'a'`
    // Where a task has that identity already, the edit itself is refused.
    expect(await refusal(edit(flow.queue('b')))).toMatchObject({ code: '23505' })
    await edit('elsewhere')
    const work = await flow.work('a')
    expect(work.claimed.map((task) => task.runId)).toEqual([other])
    expect(work.unsupported).toHaveLength(1)
    expect((await flow.claim('b')).map((task) => task.stepSlug)).toEqual(['b', 'b'])
    expect(await audit()).toMatchObject([{ kind: 'task', run_id: edited, step_slug: 'a' }])
    expect(await repair()).toBe(1)
    expect(await audit()).toEqual([])
    expect(await flow.claim('a')).toMatchObject([{ runId: edited }])
    await putAway(flow)
  })

  test('a started step without an open task', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await loseMessages(flow, 'a')
    await sql`delete from pgflow.step_tasks where run_id = ${runId!}`
    expect(await audit()).toEqual([
      {
        kind: 'step',
        flow_slug: flow.slug,
        run_id: runId,
        step_slug: 'a',
        task_index: null,
        reason: 'started, but it has no open task',
      },
    ])
    await putAway(flow)
  })

  test('a step that did not start although its dependencies have ended', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
    await loseMessages(flow, 'b')
    await sql`delete from pgflow.step_tasks where run_id = ${runId!} and step_slug = 'b'`
    await sql`update pgflow.step_states set status = 'created', started_at = null, remaining_tasks = null where run_id = ${runId!} and step_slug = 'b'`
    expect(await audit()).toMatchObject([
      { kind: 'step', run_id: runId, step_slug: 'b', reason: 'its dependencies have ended, but it did not start' },
    ])
    await putAway(flow)
  })

  test('a run that did not end although all of its steps have', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await flow.drain(() => 1)
    await sql`update pgflow.runs set status = 'started', completed_at = null, output = null, remaining_steps = 1 where run_id = ${runId!}`
    expect(await audit()).toEqual([
      {
        kind: 'run',
        flow_slug: flow.slug,
        run_id: runId,
        step_slug: null,
        task_index: null,
        reason: 'started, but all of its steps have ended',
      },
    ])
    await putAway(flow)
  })
})

describe('restore_queues', () => {
  const restored = async () =>
    (await sql<{ name: string }[]>`select pgflow.restore_queues() as name`).map(({ name }) => name)

  test('has nothing to do where all queues are there', async () => {
    const flow = await compile({ a: {} })
    expect(await restored()).toEqual([])
    await putAway(flow)
  })

  test('makes every queue of every route again, and once repaired each run goes on', async () => {
    const routed = await compile({ a: {}, b: { after: ['a'] } })
    const plain = await compile({ a: {} }, 'flow')
    const empty = `live${++count}`
    await sql`select pgflow.create_flow(${empty})`
    const [done] = await routed.start('done')
    await routed.drain(() => 1)
    const [first, second] = [await routed.start('first'), await plain.start('second')].flat()
    for (const queue of [routed.queue('a'), routed.queue('b'), plain.queue('a'), empty]) {
      await sql`select pgmq.drop_queue(${queue})`
    }
    expect(new Set(await restored())).toEqual(new Set([routed.queue('a'), routed.queue('b'), plain.queue('a'), empty]))
    expect(await repair()).toBe(2)
    await routed.drain(() => 2)
    await plain.drain(() => 3)
    expect((await routed.run(done!)).output).toEqual({ b: 1 })
    expect((await routed.run(first!)).output).toEqual({ b: 2 })
    expect((await plain.run(second!)).output).toEqual({ a: 3 })
    await expectAllWell(sql)
    await sql`select pgflow.delete_flow_and_data(${empty})`
    await putAway(routed)
    await putAway(plain)
  })

  test('makes a queue again of which one table is left, or which pgmq lists no more', async () => {
    const flow = await compile({ table: {}, archive: {}, listed: {} })
    await dropQueueTable('q', flow.queue('table'))
    await dropQueueTable('a', flow.queue('archive'))
    await sql`delete from pgmq.meta where queue_name = ${flow.queue('listed')}`
    expect(new Set(await restored())).toEqual(new Set(['table', 'archive', 'listed'].map((step) => flow.queue(step))))
    expect(await restored()).toEqual([])
    await flow.start({})
    await flow.drain(() => 1)
    await putAway(flow)
  })

  test('gives no new message the id of one that stands in the archive', async () => {
    const flow = await compile({ a: {} })
    await flow.start(1, 2)
    await flow.drain(() => 1)
    await sql`delete from pgflow.step_tasks where flow_slug = ${flow.slug}`
    await dropQueueTable('q', flow.queue('a'))
    await restored()
    const [runId] = await flow.start(3)
    await flow.drain(() => 1)
    expect((await flow.run(runId!)).status).toBe('completed')
    expect(await flow.archived('a')).toBe(3)
    await sql`delete from pgflow.step_states where flow_slug = ${flow.slug}`.catch(() => undefined)
    await putAway(flow)
  })
})

describe('repair_liveness', () => {
  test('has nothing to do where all is well', async () => {
    const flow = await compile({ a: {} })
    await flow.start({})
    expect(await repair()).toBe(0)
    expect(await flow.depth('a')).toBe(1)
    await putAway(flow)
  })

  test('sends a lost message once, and the run goes on to its end', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    const [runId] = await flow.start({})
    await loseMessages(flow, 'a')
    expect([await repair(), await repair()]).toEqual([1, 0])
    expect(await flow.hidden('a')).toEqual([0])
    await flow.drain(() => 'alive')
    expect((await flow.run(runId!)).output).toEqual({ b: 'alive' })
    await expectAllWell(sql)
  })

  test.each([
    ['queued', 0],
    ['started', 1],
  ])(
    'sends the message of a %s task again that is hidden for ever, and leaves nothing of it in the queue',
    async (_status, attempts) => {
      const flow = await compile({ a: { timeout: 10, maxAttempts: 2 } })
      const [runId] = await flow.start({})
      if (attempts === 1) await flow.claim('a')
      await flow.age(runId!, 60)
      await sql.unsafe(`update pgmq.q_${flow.queue('a')} set vt = 'infinity'`)
      expect(await audit()).toMatchObject([{ kind: 'task', run_id: runId, step_slug: 'a' }])
      expect(await repair()).toBe(1)
      expect(await audit()).toEqual([])
      expect(await sql.unsafe(`select from pgmq.q_${flow.queue('a')}`)).toHaveLength(1)
      await flow.drain(() => 'alive')
      expect((await flow.run(runId!)).output).toEqual({ a: 'alive' })
      await expectAllWell(sql)
    },
  )

  test('sends each lost element of a map again, and leaves the messages that are there', async () => {
    const flow = await compile({ each: { map: true } })
    const [runId] = await flow.start([0, 1, 2, 3])
    await sql.unsafe(`delete from pgmq.q_${flow.queue('each')} where msg_id in (2, 4)`)
    expect(await repair()).toBe(2)
    await flow.drain((task) => task.input)
    expect((await flow.run(runId!)).output).toEqual({ each: [0, 1, 2, 3] })
  })

  test('sends nothing for a started task whose worker may still report', async () => {
    const flow = await compile({ a: { timeout: 10 } })
    await flow.start({})
    const [task] = await flow.claim('a')
    await loseMessages(flow, 'a')
    expect(await repair()).toBe(0)
    expect(await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])).toMatchObject([{ accepted: true }])
  })

  test('recovers a started task past its boundary, whose attempt then counts', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 2 } })
    const [runId] = await flow.start({})
    const [old] = await flow.claim('a')
    await loseMessages(flow, 'a')
    await flow.age(runId!, 100)
    expect(await repair()).toBe(1)
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 1 }])
    const [fresh] = await flow.claim('a')
    expect(fresh).toMatchObject({ attempt: 2 })
    expect(await flow.core.settleTasks(flow.workerId, [completed(old!, 'late')])).toMatchObject([{ accepted: false }])
    await flow.core.settleTasks(flow.workerId, [completed(fresh!, 'in time')])
    expect((await flow.run(runId!)).output).toEqual({ a: 'in time' })
    await expectAllWell(sql)
  })

  test('gives a queue that was made again new ids, so that old and new runs go on, and the server may do so', async () => {
    const flow = await compile({ a: {} })
    const [done] = await flow.start('done')
    await flow.drain(() => 'first')
    const [lost, alsoLost] = await flow.start('lost', 'also lost')
    await sql`select pgmq.drop_queue(${flow.queue('a')}), pgmq.create(${flow.queue('a')})`
    const server = database.as('service_role')
    expect(await server`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 2 }])
    const [fresh] = await flow.start('fresh')
    const ids = await sql<{ is_old: boolean }[]>`
      select message_id <= 3 as is_old from pgflow.step_tasks where flow_slug = ${flow.slug} order by message_id`
    expect(ids.map((id) => id.is_old)).toEqual([true, false, false, false])
    await flow.drain(() => 'second')
    for (const runId of [lost!, alsoLost!, fresh!]) expect((await flow.run(runId)).output).toEqual({ a: 'second' })
    expect((await flow.run(done!)).output).toEqual({ a: 'first' })
    await expectAllWell(sql)
    await putAway(flow)
  })

  test('is what a refusal asks for where a queue began anew and a message would get the id of an old one', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'], maxAttempts: 1 } })
    await flow.start('done')
    await flow.drain(() => 1)
    const [failedRun] = await flow.start('to be retried')
    await flow.drain(({ stepSlug }) => (stepSlug === 'b' ? new Error('once') : 1))
    await flow.start('started')
    const [task] = await flow.claim('a')
    for (const step of ['a', 'b']) {
      await sql`select pgmq.drop_queue(${flow.queue(step)}), pgmq.create(${flow.queue(step)})`
    }
    const refused = (step: string) => ({
      code: 'SF210',
      message: `A new message of queue "${flow.queue(step)}" would have the id of an old one.`,
      detail:
        'Message 1 belongs to another task: the queue was restored without its messages or made again, and its ids began anew. Nothing was changed.',
      hint: 'Run: select pgflow.repair_liveness(); it moves the ids beyond all old ones. Then do it again.',
    })
    const before = await sql`select * from pgflow.step_tasks where flow_slug = ${flow.slug} order by run_id, step_slug`
    expect(await refusal(flow.start('fresh'))).toEqual(refused('a'))
    // Ids that were drawn are drawn, also by a call that was rolled back: as if this one came first.
    await sql`select setval(pg_get_serial_sequence(${`pgmq.q_${flow.queue('b')}`}, 'msg_id'), 1, false)`
    expect(await refusal(flow.core.settleTasks(flow.workerId, [completed(task!, 1)]))).toEqual(refused('b'))
    await sql`select setval(pg_get_serial_sequence(${`pgmq.q_${flow.queue('b')}`}, 'msg_id'), 1, false)`
    expect(await refusal(sql`select pgflow.retry_run(${failedRun!})`)).toEqual(refused('b'))
    expect(
      await sql`select * from pgflow.step_tasks where flow_slug = ${flow.slug} order by run_id, step_slug`,
    ).toEqual(before)

    await repair()
    const [fresh] = await flow.start('fresh')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
    await sql`select pgflow.retry_run(${failedRun!})`
    await flow.drain(() => 2)
    for (const runId of [fresh!, task!.runId, failedRun!]) {
      expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { b: 2 } })
    }
    await expectAllWell(sql)
    await putAway(flow)
  })

  test('ends a started task past its boundary that has no attempt left, with its run', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await loseMessages(flow, 'a')
    await flow.age(runId!, 100)
    expect(await repair()).toBe(1)
    expect(await flow.run(runId!)).toMatchObject({ status: 'failed' })
    expect(await flow.depth('a')).toBe(0)
    await expectAllWell(sql)
  })

  test('called by two at once sends each message once', async () => {
    const flow = await compile({ a: {} })
    await flow.start(1, 2, 3)
    await loseMessages(flow, 'a')
    const first = database.connect()
    const second = database.connect({ settings: { application_name: 'second repair' } })
    let late: PromiseLike<readonly { sent: number }[]> | undefined
    await first.begin(async (tx) => {
      expect(await tx`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 3 }])
      late = second<{ sent: number }[]>`select pgflow.repair_liveness() as sent`.execute()
      await untilBlocked(sql, 'second repair')
    })
    expect(await late).toEqual([{ sent: 0 }])
    expect(await flow.depth('a')).toBe(3)
    await Promise.all([first.end(), second.end()])
    await putAway(flow)
  })

  test('in pieces sends at most as many as it is asked to, and the rest when it is called again', async () => {
    const flow = await compile({ a: {}, each: { map: true } })
    await flow.start([1, 2, 3], [4, 5, 6])
    await loseMessages(flow, 'a')
    await loseMessages(flow, 'each')
    const piece = async () => (await sql<{ sent: number }[]>`select pgflow.repair_liveness(max_tasks => 3) as sent`)[0]!
    expect([await piece(), await piece(), await piece(), await piece()].map(({ sent }) => sent)).toEqual([3, 3, 2, 0])
    expect(await audit()).toEqual([])
    await flow.drain(() => 1)
    await expectAllWell(sql)
  })

  test('of some runs leaves the others', async () => {
    const flow = await compile({ a: {} })
    const [first, second] = await flow.start('first', 'second')
    await loseMessages(flow, 'a')
    expect(await sql`select pgflow.repair_liveness(${[second!]}) as sent`).toEqual([{ sent: 1 }])
    expect(await audit()).toMatchObject([{ run_id: first }])
    expect(await repair()).toBe(1)
    await putAway(flow)
  })

  test('does not come to what it can put right last: what it cannot takes no place in a piece', async () => {
    const flow = await compile({ a: {}, b: {} })
    await flow.start(1, 2)
    await sql`select pgmq.drop_queue(${flow.queue('a')})`
    await loseMessages(flow, 'b')
    expect(await sql`select pgflow.repair_liveness(max_tasks => 2) as sent`).toEqual([{ sent: 2 }])
    await putAway(flow)
  })

  test('refuses to send at most nothing', async () => {
    for (const most of [0, -1, null]) {
      expect(await refusal(sql`select pgflow.repair_liveness(max_tasks => ${most}::integer)`)).toMatchObject({
        code: 'SF001',
      })
    }
  })

  test('holds up no start and no settlement of other runs, not even where the ids of a queue begin anew', async () => {
    const flow = await compile({ a: {} })
    await flow.start('lost')
    await sql`select pgmq.drop_queue(${flow.queue('a')}), pgmq.create(${flow.queue('a')})`
    // Above what is lost, so that its own message gets an id that no task has.
    await sql`select setval(pg_get_serial_sequence(${`pgmq.q_${flow.queue('a')}`}, 'msg_id'), 5)`
    await flow.start('lively')
    const [lively] = await flow.claim('a')
    await sql`select setval(pg_get_serial_sequence(${`pgmq.q_${flow.queue('a')}`}, 'msg_id'), 1, false)`
    const held = await new Actor(database).hold((_core, tx) => tx`select pgflow.repair_liveness()`)
    const impatient = database.connect({ settings: { lock_timeout: '100' } })
    await impatient`select pgflow.start_flow(${flow.slug}, '"fresh"')`
    expect(
      await impatient`select accepted from pgflow.settle_tasks(${flow.workerId}::uuid, ${JSON.stringify([
        { run_id: lively!.runId, step_slug: 'a', task_index: 0, attempt: 1, status: 'completed', output: 1 },
      ])}::text::jsonb)`,
    ).toEqual([{ accepted: true }])
    await impatient.end()
    await held.commit()
    await flow.drain(() => 2)
    await expectAllWell(sql)
    await putAway(flow)
  })

  test('costs the same for each message, whether few are lost or many', async () => {
    const flow = await compile({ a: {} })
    const pagesPerMessage = async (count: number) => {
      await flow.start(...Array.from({ length: count }, () => ({})))
      await loseMessages(flow, 'a')
      await sql`select pgmq.drop_queue(${flow.queue('a')}), pgmq.create(${flow.queue('a')})`
      const lost = (await sql<{ run_id: string }[]>`select run_id from pgflow.liveness_audit`).map((row) => row.run_id)
      let pages = 0
      for (let from = 0; from < lost.length; from += 500) {
        const [row] = await sql<[{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }]>`
          explain (analyze, buffers, format json) select pgflow.repair_liveness(${lost.slice(from, from + 500)})`
        const plan = row['QUERY PLAN'][0].Plan
        pages += plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
      }
      expect(await audit()).toEqual([])
      return pages / count
    }
    const few = await pagesPerMessage(1_000)
    await sql`select pgflow.cancel_run(run_id) from pgflow.runs where flow_slug = ${flow.slug}`
    expect(await pagesPerMessage(4_000)).toBeLessThan(1.5 * few)
    await putAway(flow)
  })

  test('leaves what it cannot put right: a dropped queue, and states that were damaged', async () => {
    const flow = await compile({ a: {}, b: {} })
    const [runId] = await flow.start({})
    await sql`select pgmq.drop_queue(${flow.queue('a')})`
    await loseMessages(flow, 'b')
    await sql`delete from pgflow.step_tasks where run_id = ${runId!} and step_slug = 'b'`
    const before = await audit()
    expect(before).toHaveLength(2)
    expect(await repair()).toBe(0)
    expect(await audit()).toEqual(before)
    await putAway(flow)
  })
})
