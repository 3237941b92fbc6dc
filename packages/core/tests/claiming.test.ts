import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch> = { a: {} }, options = {}, mode: 'flow' | 'step' = 'step') =>
  CompiledFlow.compileShape(sql, `claim${++count}`, shape(steps, options), mode)

const sendForeign = async (queue: string, times = 1) => {
  await sql`select pgmq.send(${queue}, '{"foreign": true}'::jsonb) from generate_series(1, ${times}::integer)`
}

describe('a claim of a queued task', () => {
  test('gives it with its attempt number and marks it started by that worker', async () => {
    const flow = await compile()
    const [runId] = await flow.start({ x: 1 })
    expect(await flow.claim('a')).toEqual([
      {
        flowSlug: flow.slug,
        runId,
        stepSlug: 'a',
        taskIndex: 0,
        messageId: '1',
        attempt: 1,
        input: {},
        flowInput: { x: 1 },
        timeoutSeconds: 60,
      },
    ])
    const [task] =
      await sql`select status, attempts_count, last_worker_id, started_at is not null as has_start from pgflow.step_tasks where run_id = ${runId!}`
    expect(task).toEqual({ status: 'started', attempts_count: 1, last_worker_id: flow.workerId, has_start: true })
  })

  test('hides its message for the effective timeout and 2 s', async () => {
    const flow = await compile({ own: { timeout: 7 }, inherits: {} }, { timeout: 40 })
    await flow.start({})
    await flow.claim('own')
    await flow.claim('inherits')
    expect([await flow.hidden('own'), await flow.hidden('inherits')]).toEqual([[9], [42]])
  })

  test('hides each message by its own step where one queue serves steps of different timeouts', async () => {
    const flow = await compile({ short: { timeout: 3 }, long: { timeout: 300 } }, {}, 'flow')
    await flow.start({}, {})
    const tasks = await flow.claim('short')
    const byMessage = new Map(tasks.map((task) => [task.messageId, task.timeoutSeconds + 2]))
    expect([...byMessage.values()].sort()).toEqual([302, 302, 5, 5])
    expect(await flow.hidden('short')).toEqual(['1', '2', '3', '4'].map((id) => byMessage.get(id)))
  })

  test.each(['flow', 'step'] as const)('may have the longest timeout that there is, in queue mode %s', async (mode) => {
    const longest = 2_147_483_647
    const flow = await compile({ a: { timeout: longest }, b: { timeout: mode === 'flow' ? 1 : longest } }, {}, mode)
    const [runId] = await flow.start({})
    const tasks = mode === 'flow' ? await flow.claim('a') : [...(await flow.claim('a')), ...(await flow.claim('b'))]
    const task = tasks.find(({ stepSlug }) => stepSlug === 'a')!
    expect(task.timeoutSeconds).toBe(longest)
    await flow.reveal('a')
    expect(await flow.work('a')).toMatchObject({ claimed: [], stalled: 0, unsupported: [] })
    expect((await flow.hidden('a'))[task.messageId === '1' ? 0 : 1]).toBeGreaterThan(longest - 600)
    await flow.core.requeueStalledTasks()
    expect(await sql`select * from pgflow.liveness_audit where flow_slug = ${flow.slug}`).toEqual([])
    expect(await sql`select stalled from pgflow._queue_troubles(${flow.queue('a')}, true)`).toEqual([{ stalled: 0 }])
    await flow.core.settleTasks(flow.workerId, [completed(task, 1)])
    expect((await flow.steps(runId!)).a).toBe('completed')
  })

  test('may have a message id that no number of JavaScript can hold', async () => {
    const flow = await compile()
    await sql`select setval(pg_get_serial_sequence(${`pgmq.q_${flow.queue('a')}`}, 'msg_id'), 9007199254740992)`
    const [first] = await flow.start({})
    await sendForeign(flow.queue('a'))
    const { claimed, unsupported } = await flow.work('a')
    expect(claimed).toMatchObject([{ runId: first, messageId: '9007199254740993' }])
    expect(unsupported).toMatchObject([{ messageId: '9007199254740994' }])
    await flow.core.settleTasks(flow.workerId, [failed(claimed[0]!, { retryDelaySeconds: 0 })])
    const [again] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [completed(again!, 1)])
    expect((await flow.run(first!)).status).toBe('completed')
    expect(
      await sql.unsafe(
        `select msg_id from pgmq.a_${flow.queue('a')} union all select msg_id from pgmq.q_${flow.queue('a')}`,
      ),
    ).toEqual([{ msg_id: '9007199254740993' }, { msg_id: '9007199254740994' }])
  })

  test.each(['flow', 'step'] as const)('gives never more than qty in queue mode %s', async (mode) => {
    const flow = await compile({ a: {} }, {}, mode)
    await flow.start(1, 2, 3, 4, 5)
    expect(await flow.claim('a', 2)).toHaveLength(2)
    expect(await flow.claim('a', 0)).toHaveLength(0)
    expect(await flow.claim('a', -1)).toHaveLength(0)
    expect(await flow.claim('a', 10)).toHaveLength(3)
  })

  test('takes them in the order they were queued', async () => {
    const flow = await compile()
    const runs = await flow.start(...Array.from({ length: 20 }, (_, n) => n))
    const claimed = [...(await flow.claim('a', 7)), ...(await flow.claim('a', 7)), ...(await flow.claim('a', 7))]
    const numbers = claimed.map((task) => Number(task.messageId))
    expect(numbers.slice(0, 7).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(new Set(claimed.map((task) => task.runId))).toEqual(new Set(runs))
  })

  test('rolls back whole when the visibility of a claimed message cannot be set', async () => {
    const flow = await compile({ short: { timeout: 3 }, long: { timeout: 300 } }, {}, 'flow')
    const [runId] = await flow.start({})
    await sql`
      create or replace function pgflow.broken_visibility() returns trigger language plpgsql as $$
      begin if new.vt > clock_timestamp() + interval '100 s' then return null; end if; return new; end $$`
    const queue = flow.queue('short')
    await sql.unsafe(
      `create trigger broken before update on pgmq.q_${queue} for each row execute function pgflow.broken_visibility()`,
    )
    expect((await refusal(flow.claim('short'))).code).toBe('SF301')
    expect((await flow.tasks(runId!)).map((task) => [task.status, task.attempts_count])).toEqual([
      ['queued', 0],
      ['queued', 0],
    ])
    await sql.unsafe(`drop trigger broken on pgmq.q_${queue}`)
    expect(await flow.claim('short')).toHaveLength(2)
  })

  test('claim_tasks gives released columns and nothing but claimed tasks', async () => {
    const flow = await compile()
    const [runId] = await flow.start({ x: 1 })
    await sendForeign(flow.queue('a'))
    const rows =
      await sql`select * from pgflow.claim_tasks(${flow.queue('a')}, ${flow.slug}, ${flow.workerId}, 10, 'a')`
    expect(rows).toEqual([
      {
        flow_slug: flow.slug,
        run_id: runId,
        step_slug: 'a',
        task_index: 0,
        msg_id: '1',
        attempt: 1,
        input: {},
        flow_input: { x: 1 },
      },
    ])
  })
})

describe('a visible message', () => {
  test('of a queued task in a failed run is archived, and the task is not revived', async () => {
    const flow = await compile()
    const [runId] = await flow.start({})
    await sql`update pgflow.runs set status = 'failed', failed_at = now() where run_id = ${runId!}`
    expect(await flow.work('a')).toEqual({
      worker: 'running',
      claimed: [],
      refused: [],
      unsupported: [],
      halted: false,
      suspects: 0,
      stalled: 0,
    })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 0 }])
    expect([await flow.depth('a'), await flow.archived('a')]).toEqual([0, 1])
  })

  test('of a queued task in a skipped step is archived, and the task is not revived', async () => {
    const flow = await compile()
    const [runId] = await flow.start({})
    await sql`update pgflow.step_states set status = 'skipped', skip_reason = 'handler_failed', skipped_at = now(), remaining_tasks = null where run_id = ${runId!}`
    expect(await flow.claim('a')).toEqual([])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 0 }])
    expect([await flow.depth('a'), await flow.archived('a')]).toEqual([0, 1])
  })

  test('of a queued task in a step that has not started is left for later', async () => {
    const flow = await compile()
    const [runId] = await flow.start({})
    await sql`update pgflow.step_states set status = 'created', remaining_tasks = null where run_id = ${runId!}`
    expect(await flow.claim('a')).toEqual([])
    expect([await flow.hidden('a'), await flow.depth('a')]).toEqual([[5], 1])
  })

  test('of a started task consumes nothing and is hidden until the recovery boundary', async () => {
    const flow = await compile({ a: { timeout: 10 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await flow.age(runId!, 15)
    await flow.reveal('a')
    expect(await flow.work('a', { workerId: await flow.register(randomUUID()) })).toMatchObject({
      claimed: [],
      stalled: 0,
      unsupported: [],
    })
    expect(await flow.hidden('a')).toEqual([25])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'started', attempts_count: 1 }])
  })

  test('of a started task past its recovery boundary is recovered by the same call', async () => {
    const flow = await compile({ a: { timeout: 10 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await flow.age(runId!, 41)
    await flow.reveal('a')
    const second = await flow.register(randomUUID())
    expect(await flow.work('a', { workerId: second })).toMatchObject({ claimed: [], stalled: 0 })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 1 }])
    expect(await flow.claim('a', 1, second)).toMatchObject([{ attempt: 2 }])
  })

  test('of a stalled task without attempts left is told to the worker and not claimed', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await flow.age(runId!, 41)
    await flow.reveal('a')
    expect(await flow.work('a')).toMatchObject({ claimed: [], stalled: 1 })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'started', attempts_count: 1 }])
    await flow.core.requeueStalledTasks()
    expect((await flow.run(runId!)).status).toBe('failed')
  })

  test.each(['completed', 'failed', 'skipped', 'cancelled'])('of a task that is %s is archived', async (status) => {
    const flow = await compile()
    const [runId] = await flow.start({})
    await sql`update pgflow.step_tasks set status = ${status} where run_id = ${runId!}`
    expect(await flow.work('a')).toMatchObject({ claimed: [], unsupported: [] })
    expect([await flow.depth('a'), await flow.archived('a')]).toEqual([0, 1])
  })

  test('of a task that another connection has locked is left, without waiting', async () => {
    const flow = await compile()
    const [runId] = await flow.start({})
    const other = database.connect()
    const impatient = database.connect({ settings: { lock_timeout: '100ms' } })
    await other.begin(async (tx) => {
      await tx`select from pgflow.step_tasks where run_id = ${runId!} for update`
      const rows =
        await impatient`select * from pgflow.claim_tasks(${flow.queue('a')}, ${flow.slug}, ${flow.workerId}, 5, 'a')`
      expect(rows).toHaveLength(0)
    })
    await Promise.all([other.end(), impatient.end()])
    expect(await flow.hidden('a')).toEqual([5])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 0 }])
    await flow.reveal('a')
    expect(await flow.claim('a')).toHaveLength(1)
  })

  test('without a task is told to the worker, hidden for 5 s doubling with each read up to 5 min, and stays', async () => {
    const flow = await compile()
    const queue = flow.queue('a')
    await sendForeign(queue)
    const hidden: (number | undefined)[] = []
    for (let read = 1; read <= 8; read++) {
      await flow.reveal('a')
      expect(await flow.work('a')).toMatchObject({
        claimed: [],
        unsupported: [{ messageId: '1', flowSlug: null, stepSlug: null, readCount: read }],
      })
      hidden.push((await flow.hidden('a'))[0])
    }
    expect(hidden).toEqual([5, 10, 20, 40, 80, 160, 300, 300])
    expect([await flow.depth('a'), await flow.archived('a')]).toEqual([1, 0])
  })

  test('of another flow is told with its flow and step, and its task is not touched', async () => {
    const [flow, other] = [await compile(), await compile({ b: {} })]
    const [runId] = await other.start({})
    await sql`update pgflow.step_tasks set queue_name = ${flow.queue('a')} where run_id = ${runId!}`
    await sendForeign(flow.queue('a'))
    expect((await flow.work('a')).unsupported).toEqual([
      { messageId: '1', flowSlug: other.slug, stepSlug: 'b', readCount: 1 },
    ])
    expect(await other.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 0 }])
    expect(await flow.depth('a')).toBe(1)
  })

  test('of another step of the same flow is unsupported too', async () => {
    const flow = await compile({ a: {}, b: {} })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await sql`update pgflow.step_tasks set queue_name = ${flow.queue('a')}, message_id = 2 where run_id = ${runId!} and step_slug = 'b'`
    await sendForeign(flow.queue('a'))
    expect((await flow.work('a')).unsupported).toMatchObject([{ messageId: '2', stepSlug: 'b' }])
  })
})

test('a batch of every kind of message claims the valid ones and treats each other by its rule', async () => {
  const flow = await compile({ a: { timeout: 10, maxAttempts: 5 } })
  const runs = await flow.start('done', 'running', 'stalled', 'queued')
  const [done, running, stalled, queued] = runs as [string, string, string, string]
  const claimed = await flow.claim('a', 3)
  await flow.core.settleTasks(flow.workerId, [completed(claimed.find((task) => task.runId === done)!, 1)])
  await flow.age(running, 5)
  await flow.age(stalled, 60)
  await sendForeign(flow.queue('a'))
  await flow.reveal('a')
  const work = await flow.work('a')
  expect(work.claimed.map((task) => task.runId)).toEqual([queued])
  expect(work.unsupported).toHaveLength(1)
  expect((await flow.tasks(running))[0]!.status).toBe('started')
  expect((await flow.tasks(stalled))[0]!.status).toBe('queued')
  const hidden = await flow.hidden('a')
  expect([hidden[0], hidden[2], hidden[3]]).toEqual([35, 12, 5])
  expect(hidden[1]).toBe(0)
})

test('valid work behind an unsupported message goes on', async () => {
  const flow = await compile()
  await sendForeign(flow.queue('a'), 3)
  await flow.start({})
  expect(await flow.claim('a', 3)).toEqual([])
  expect(await flow.claim('a', 3)).toHaveLength(1)
})

describe('with the halt policy', () => {
  test('one unsupported message keeps the whole batch from being claimed, and disables the function', async () => {
    const flow = await compile()
    const worker = await flow.register(randomUUID(), 'strict')
    const [runId] = await flow.start({})
    await sendForeign(flow.queue('a'))
    expect(await flow.work('a', { workerId: worker, onUnsupported: 'halt' })).toMatchObject({
      claimed: [],
      halted: true,
      unsupported: [{ messageId: '2' }],
    })
    expect(await flow.hidden('a')).toEqual([0, 0])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 0 }])
    expect(
      await sql`select enabled, disabled_reason from pgflow.worker_functions where function_name = 'strict'`,
    ).toEqual([
      {
        enabled: false,
        disabled_reason: `1 of 2 messages read from queue "${flow.queue('a')}" are not supported (onUnsupportedMessage: halt)`,
      },
    ])
    expect((await flow.work('a', { workerId: worker })).worker).toBe('fenced')
  })

  test.each([
    ['hand-made', async (flow: CompiledFlow) => await sendForeign(flow.queue('a'))],
    [
      'another flow’s',
      async (flow: CompiledFlow) => {
        const other = await compile({ b: {} })
        const [runId] = await other.start({})
        await sendForeign(flow.queue('a'))
        await sql`
        update pgflow.step_tasks set queue_name = ${flow.queue('a')}, message_id = 5 where run_id = ${runId!}`
      },
    ],
    [
      'another step’s',
      async (flow: CompiledFlow) => {
        await sendForeign(flow.queue('a'))
        await sql`
        update pgflow.step_tasks set queue_name = ${flow.queue('a')}, message_id = 5
        where (run_id, step_slug) = (select run_id, 'b' from pgflow.step_tasks where flow_slug = ${flow.slug} and step_slug = 'b' limit 1)`
      },
    ],
  ])('one message that is %s leaves a batch of every kind as it was, and visible', async (_kind, sendOne) => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 5 }, b: {} })
    const worker = await flow.register(randomUUID(), `strict-${flow.slug}`)
    const runs = (await flow.start('done', 'running', 'stalled', 'queued')) as [string, string, string, string]
    await flow.claim('a', 3)
    await sql`update pgflow.step_tasks set status = 'completed', completed_at = now() where run_id = ${runs[0]} and step_slug = 'a'`
    await flow.age(runs[1], 5)
    await flow.age(runs[2], 60)
    await sendOne(flow)
    await flow.reveal('a')
    const tasks = async () =>
      await sql`select * from pgflow.step_tasks where queue_name = ${flow.queue('a')} order by message_id`
    const before = await tasks()
    expect(await flow.work('a', { workerId: worker, onUnsupported: 'halt' })).toMatchObject({
      claimed: [],
      halted: true,
      unsupported: [{ messageId: '5' }],
    })
    expect(await tasks()).toEqual(before)
    expect([await flow.hidden('a'), await flow.archived('a')]).toEqual([[0, 0, 0, 0, 0], 0])
  })

  test('a policy that does not exist is refused instead of being taken for the lax one', async () => {
    const flow = await compile()
    const [runId] = await flow.start({})
    await sendForeign(flow.queue('a'))
    const refused = await refusal(
      sql`select * from pgflow.claim_tasks(${flow.queue('a')}, ${flow.slug}, ${flow.workerId}, 5, 'a', 'HALT')`,
    )
    expect(refused).toMatchObject({
      code: 'SF001',
      message: 'on_unsupported cannot be "HALT".',
      hint: 'Use skip or halt.',
    })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 0 }])
  })

  test('a batch without unsupported messages is claimed', async () => {
    const flow = await compile()
    await flow.start({})
    expect(await flow.work('a', { onUnsupported: 'halt' })).toMatchObject({ halted: false, claimed: [{ attempt: 1 }] })
  })
})

describe('a worker that may not claim', () => {
  const states: [string, (workerId: string) => Promise<unknown>, string][] = [
    ['is deprecated', (id) => sql`select pgflow.deprecate_worker(${id})`, 'deprecated'],
    ['is stopped', (id) => sql`select pgflow.mark_worker_stopped(${id})`, 'deprecated'],
    [
      'is fenced',
      (id) => sql`update pgflow.worker_functions set enabled = false where function_name = ${`fn-${id}`}`,
      'fenced',
    ],
    ['has no row', (id) => sql`delete from pgflow.workers where worker_id = ${id}`, 'unknown'],
  ]
  test.each(states)('because it %s gets nothing, reads nothing and is told', async (_, change, state) => {
    const flow = await compile()
    const [runId] = await flow.start({})
    const worker = await flow.register(randomUUID())
    await change(worker)
    expect(await flow.work('a', { workerId: worker })).toMatchObject({ worker: state, claimed: [] })
    const [message] = await sql.unsafe(`select read_ct from pgmq.q_${flow.queue('a')}`)
    expect(message).toEqual({ read_ct: 0 })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued' }])
  })

  test('may still settle what it has', async () => {
    const flow = await compile()
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.deprecateWorker(flow.workerId)
    expect(await flow.work('a', { reports: [completed(task!, 1)] })).toMatchObject({
      worker: 'deprecated',
      refused: [],
    })
    expect((await flow.run(runId!)).status).toBe('completed')
  })
})

describe('a subscription that is no persisted route is refused:', () => {
  const claim = (flow: CompiledFlow, queue: string, step: string | null, slug = flow.slug) =>
    refusal(sql`select * from pgflow.claim_tasks(${queue}, ${slug}, ${flow.workerId}, 1, ${step})`)

  test('another step queue', async () => {
    const flow = await compile({ a: {}, b: {} })
    expect(await claim(flow, flow.queue('a'), 'b')).toMatchObject({
      code: 'SF302',
      message: `Queue "${flow.queue('a')}" does not serve step "b" of flow "${flow.slug}".`,
      detail: `Routes: a → ${flow.queue('a')}, b → ${flow.queue('b')}.`,
    })
  })

  test('a step-queued flow without a step', async () => {
    const flow = await compile({ a: {} })
    expect((await claim(flow, flow.queue('a'), null)).code).toBe('SF302')
  })

  test('an unknown step and an unknown flow', async () => {
    const flow = await compile({ a: {} })
    expect((await claim(flow, flow.queue('a'), 'nothing')).code).toBe('SF302')
    expect((await claim(flow, flow.queue('a'), 'a', 'nowhere')).detail).toBe('The flow has no routes.')
  })
})

test('two workers that claim one queue at once never get the same task', async () => {
  const flow = await compile()
  const runs = await flow.start(...Array.from({ length: 300 }, (_, n) => n))
  const workers = await Promise.all(
    Array.from({ length: 4 }, async () => ({
      id: await flow.register(randomUUID()),
      core: new StarflowSql(database.connect()),
    })),
  )
  const seen: string[] = []
  await Promise.all(
    workers.map(async ({ id, core }) => {
      for (;;) {
        const { claimed } = await core.settleAndClaim({
          workerId: id,
          reports: [],
          queueName: flow.queue('a'),
          flowSlug: flow.slug,
          stepSlug: 'a',
          qty: 7,
          onUnsupported: 'skip',
        })
        if (claimed.length === 0) return
        seen.push(...claimed.map((task) => task.runId))
      }
    }),
  )
  expect(seen).toHaveLength(300)
  expect(new Set(seen)).toEqual(new Set(runs))
})

test('a claim does not wait for a run that another connection settles', async () => {
  const flow = await compile({ a: {}, b: {} })
  const [runId] = await flow.start({})
  const other = database.connect()
  const impatient = database.connect({ settings: { lock_timeout: '100ms' } })
  await other.begin(async (tx) => {
    await tx`select from pgflow.runs where run_id = ${runId!} for update`
    const rows =
      await impatient`select * from pgflow.claim_tasks(${flow.queue('b')}, ${flow.slug}, ${flow.workerId}, 5, 'b')`
    expect(rows).toHaveLength(1)
  })
  await Promise.all([other.end(), impatient.end()])
})

test('a stalled task whose run another connection holds is left by a claim, without waiting', async () => {
  const flow = await compile({ a: { timeout: 1 } })
  const [runId] = await flow.start({})
  await flow.claim('a')
  await flow.age(runId!, 100)
  await flow.reveal('a')
  const other = database.connect()
  const impatient = database.connect({ settings: { lock_timeout: '100ms' } })
  await other.begin(async (tx) => {
    await tx`select from pgflow.runs where run_id = ${runId!} for update`
    await impatient`select * from pgflow.claim_tasks(${flow.queue('a')}, ${flow.slug}, ${flow.workerId}, 5, 'a')`
  })
  await Promise.all([other.end(), impatient.end()])
  expect(await flow.tasks(runId!)).toMatchObject([{ status: 'started' }])
  expect(await flow.hidden('a')).toEqual([5])
})

test('a task that is dispatched while a queue is polled is claimed by the next poll', async () => {
  const flow = await compile({ a: {}, b: { after: ['a'] } })
  await flow.start({})
  const [task] = await flow.claim('a')
  expect(await flow.claim('b')).toEqual([])
  const work = await flow.work('b', { reports: [completed(task!, 1)] })
  expect(work.claimed).toHaveLength(1)
})

test('a retry is hidden from other workers until its delay is over', async () => {
  const flow = await compile({ a: {} }, { baseDelay: 100 })
  await flow.start({})
  const [task] = await flow.claim('a')
  expect((await flow.work('a', { reports: [failed(task!)] })).claimed).toEqual([])
  expect(await flow.hidden('a')).toEqual([200])
})
