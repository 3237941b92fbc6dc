import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type ClaimedTask, StarflowSql, type TaskReport } from '../src/index.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

let count = 0
const compile = (steps: Record<string, StepSketch> = { a: {}, b: { after: ['a'] } }, options = { baseDelay: 0 }) =>
  CompiledFlow.compileShape(sql, `settle${++count}`, shape(steps, options))

/** Settles reports as any caller may write them, past the checks of the client. */
const settleRaw = (workerId: string, reports: unknown) =>
  sql<{ accepted: boolean; reason: string | null }[]>`
    select accepted, reason from pgflow.settle_tasks(${workerId}, ${JSON.stringify(reports)}::text::jsonb)`

const rawReport = (task: ClaimedTask, rest: object) => ({
  run_id: task.runId,
  step_slug: task.stepSlug,
  task_index: task.taskIndex,
  attempt: task.attempt,
  ...rest,
})

/** One run whose task was claimed, lost, recovered and claimed again: by the same worker, or by a second one. */
async function lostAndFound(by: 'same' | 'other') {
  const flow = await compile({ a: { timeout: 10, maxAttempts: 5 }, b: { after: ['a'] } })
  const [runId] = await flow.start({})
  const [lost] = await flow.claim('a')
  await flow.age(runId!, 60)
  await core.requeueStalledTasks()
  const holder = by === 'same' ? flow.workerId : await flow.register(randomUUID())
  const [held] = await flow.claim('a', 1, holder)
  expect(held!.attempt).toBe(2)
  return { flow, runId: runId!, lost: lost!, held: held!, holder }
}

describe.each(['same', 'other'] as const)('an old attempt of a task that the %s worker has claimed again', (by) => {
  test('cannot complete it', async () => {
    const { flow, runId, lost } = await lostAndFound(by)
    expect(await core.settleTasks(flow.workerId, [completed(lost, 'late')])).toMatchObject([
      { accepted: false, reason: 'stale attempt: the task is at attempt 2' },
    ])
    expect((await flow.tasks(runId))[0]).toMatchObject({ status: 'started', attempts_count: 2 })
    expect(await flow.depth('b')).toBe(0)
  })

  test('cannot fail it', async () => {
    const { flow, runId, lost } = await lostAndFound(by)
    const before = await flow.hidden('a')
    expect(await core.settleTasks(flow.workerId, [failed(lost, { permanent: true })])).toMatchObject([
      { accepted: false },
    ])
    expect((await flow.tasks(runId))[0]).toMatchObject({ status: 'started', attempts_count: 2, error_message: null })
    expect((await flow.hidden('a'))[0]).toBeGreaterThan(before[0]! - 5)
    expect((await flow.run(runId)).status).toBe('started')
  })

  test('cannot release it', async () => {
    const { flow, runId, lost } = await lostAndFound(by)
    expect(await core.releaseTasks(flow.workerId, [{ ...lost, started: false }])).toBe(0)
    expect(await core.releaseTasks(flow.workerId, [{ ...lost, started: true }])).toBe(0)
    expect((await flow.tasks(runId))[0]).toMatchObject({ status: 'started', attempts_count: 2 })
  })

  test('leaves the holder free to complete it, once', async () => {
    const { flow, lost, held, holder } = await lostAndFound(by)
    await core.settleTasks(flow.workerId, [completed(lost, 'late')])
    expect(await core.settleTasks(holder, [completed(held, 'in time')])).toMatchObject([
      { accepted: true, reason: null },
    ])
    expect(await core.settleTasks(holder, [completed(held, 'again')])).toMatchObject([
      { accepted: false, reason: 'already settled: task is completed' },
    ])
    expect(await flow.claim('b')).toMatchObject([{ input: { a: 'in time' } }])
    expect(await flow.depth('b')).toBe(1)
  })
})

test('the right attempt of the wrong worker is refused', async () => {
  const flow = await compile()
  await flow.start({})
  const [task] = await flow.claim('a')
  const other = await flow.register(randomUUID())
  expect(await core.settleTasks(other, [completed(task!, 1)])).toMatchObject([
    { accepted: false, reason: 'the task was claimed by another worker' },
  ])
  expect(await core.settleTasks(other, [failed(task!)])).toMatchObject([{ accepted: false }])
})

test('a stale complete_task and fail_task change nothing and return the row', async () => {
  const { flow, runId } = await lostAndFound('other')
  const [completedRow] = await sql`select * from pgflow.complete_task(${runId}, 'a', 0, '1', ${flow.workerId}, 1)`
  const [failedRow] = await sql`select * from pgflow.fail_task(${runId}, 'a', 0, 'late', ${flow.workerId}, 1)`
  expect([completedRow, failedRow]).toMatchObject([
    { status: 'started', attempts_count: 2 },
    { status: 'started', attempts_count: 2 },
  ])
})

describe('one bad report never fails the others:', () => {
  const bad: [string, (task: ClaimedTask) => unknown, { accepted: boolean; reason: unknown }][] = [
    [
      'a run id that is no uuid',
      (task) => rawReport(task, { run_id: 'nonsense', status: 'completed', output: '1' }),
      { accepted: false, reason: 'malformed' },
    ],
    [
      'no run id',
      (task) => rawReport(task, { run_id: null, status: 'completed', output: '1' }),
      { accepted: false, reason: 'malformed' },
    ],
    ['a report that is no object', () => 7, { accepted: false, reason: 'malformed' }],
    [
      'a task index that is no number',
      (task) => rawReport(task, { task_index: 'x', status: 'completed' }),
      { accepted: false, reason: 'malformed' },
    ],
    [
      'an unknown status',
      (task) => rawReport(task, { status: 'finished' }),
      { accepted: false, reason: 'unknown status' },
    ],
    [
      'a task that does not exist',
      (task) => rawReport(task, { task_index: 99, status: 'completed', output: '1' }),
      { accepted: false, reason: 'unknown task' },
    ],
    [
      'an attempt that is missing',
      (task) => rawReport(task, { attempt: null, status: 'completed', output: '1' }),
      { accepted: false, reason: expect.stringContaining('stale') },
    ],
    [
      'an output that is no JSON',
      (task) => rawReport(task, { status: 'completed', output: '{"a":' }),
      { accepted: true, reason: null },
    ],
    [
      'an output with the character NUL',
      (task) => rawReport(task, { status: 'completed', output: '"a\\u0000b"' }),
      { accepted: true, reason: null },
    ],
    [
      'an output with half a surrogate pair',
      (task) => rawReport(task, { status: 'completed', output: '"\\ud800"' }),
      { accepted: true, reason: null },
    ],
    [
      'an output that is nested 100 000 deep',
      (task) => rawReport(task, { status: 'completed', output: '['.repeat(100_000) + ']'.repeat(100_000) }),
      { accepted: true, reason: null },
    ],
  ]
  test.each(bad)('%s', async (_, make, expected) => {
    const flow = await compile({ a: {} })
    const [badRun, goodRun, otherRun] = await flow.start(0, 1, 2)
    const tasks = await flow.claim('a')
    const of = (runId: string | undefined) => tasks.find((task) => task.runId === runId)!
    const settled = await settleRaw(flow.workerId, [
      rawReport(of(goodRun), { status: 'completed', output: '"good"' }),
      make(of(badRun)),
      rawReport(of(otherRun), { status: 'failed', error_message: 'boom', permanent: true }),
    ])
    expect(settled).toEqual([{ accepted: true, reason: null }, expected, { accepted: true, reason: null }])
    expect(await flow.run(goodRun!)).toMatchObject({ status: 'completed', output: { a: 'good' } })
    expect((await flow.run(otherRun!)).status).toBe('failed')
    const [task] = await flow.tasks(badRun!)
    if (expected.accepted) {
      expect(task).toMatchObject({ status: 'queued', error_message: expect.stringContaining('cannot be stored') })
    } else {
      expect(task).toMatchObject({ status: 'started', error_message: null })
    }
  })

  test('two bad ones beside 200 good ones', async () => {
    const flow = await compile({ a: {} })
    await flow.start(...Array.from({ length: 202 }, (_, n) => n))
    const tasks = await flow.claim('a', 500)
    const reports: unknown[] = tasks.map((task) => rawReport(task, { status: 'completed', output: '1' }))
    reports[10] = rawReport(tasks[10]!, { status: 'completed', output: '"\\u0000"' })
    reports[20] = rawReport(tasks[20]!, { run_id: 'x', status: 'completed', output: '1' })
    const settled = await settleRaw(flow.workerId, reports)
    expect(settled.map((row, index) => (row.accepted ? -1 : index)).filter((index) => index >= 0)).toEqual([20])
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug} and status = 'completed'`).toHaveLength(200)
  })

  test.each([
    ['reports that are no array', { run_id: 1 }],
    ['the JSON null', null],
  ])('but %s are refused as a whole', async (_, reports) => {
    expect((await refusal(settleRaw(randomUUID(), reports))).code).toBe('SF303')
  })

  test('but reports of nobody are refused as a whole', async () => {
    expect((await refusal(sql`select pgflow.settle_tasks(null, '[]')`)).code).toBe('SF303')
  })
})

describe('an output keeps its value and type:', () => {
  const outputs: [string, Json][] = [
    ['zero', 0],
    ['false', false],
    ['the empty text', ''],
    ['null', null],
    ['an empty object', {}],
    ['an empty array', []],
    ['text that looks like a number', '123'],
    ['text that looks like an object', '{"a": 1}'],
    ['text that looks like text', '"quoted"'],
    ['text with quotes and backslashes', 'a"b\\c\n'],
    ['text beyond the basic plane', '🛰️ 中文'],
    ['a nested value', { a: [{ b: null }, 0.1, -1e-7] }],
  ]
  test.each(outputs)('%s', async (_, output) => {
    const flow = await compile()
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await core.settleTasks(flow.workerId, [completed(task!, output)])
    const [next] = await flow.claim('b')
    expect(next!.input).toEqual({ a: output })
    await core.settleTasks(flow.workerId, [completed(next!, output)])
    expect((await flow.run(runId!)).output).toEqual({ b: output })
  })

  test('2 MB of text', async () => {
    const flow = await compile()
    await flow.start({})
    const [task] = await flow.claim('a')
    const output = 'x'.repeat(2_000_000)
    expect(await core.settleTasks(flow.workerId, [completed(task!, output)])).toMatchObject([{ accepted: true }])
    const [next] = await flow.claim('b')
    expect(next!.input).toEqual({ a: output })
  })

  test('and what the client cannot send becomes a replacement character, not a lost batch', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await core.settleTasks(flow.workerId, [
      failed(task!, { errorMessage: 'nul \0 and half \ud800 a pair', permanent: true }),
    ])
    expect(await flow.tasks(runId!)).toMatchObject([{ error_message: 'nul \ufffd and half \ufffd a pair' }])
  })
})

describe('in one call', () => {
  test('reports of many runs and flows are settled, each message archived from its own queue', async () => {
    const [first, second] = [await compile(), await compile({ x: {}, y: {} })]
    const worker = first.workerId
    await first.start(1, 2)
    await second.start(3)
    const tasks = [
      ...(await first.claim('a')),
      ...(await second.claim('x', 9, worker)),
      ...(await second.claim('y', 9, worker)),
    ]
    const settled = await core.settleTasks(
      worker,
      tasks.map((task) => completed(task, task.stepSlug)),
    )
    expect(settled.map((row) => row.accepted)).toEqual([true, true, true, true])
    expect([await first.archived('a'), await second.archived('x'), await second.archived('y')]).toEqual([2, 1, 1])
    expect([await first.depth('a'), await second.depth('x'), await second.depth('y'), await first.depth('b')]).toEqual([
      0, 0, 0, 2,
    ])
  })

  test('a complete and a fail of one attempt are answered each by itself: the complete counts', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    for (const reports of [[failed(task!), completed(task!, 1)]] satisfies TaskReport[][]) {
      expect(await core.settleTasks(flow.workerId, reports)).toMatchObject([
        { accepted: false, reason: 'already settled: task is completed' },
        { accepted: true, reason: null },
      ])
    }
    expect((await flow.run(runId!)).status).toBe('completed')
  })

  test('the same report twice is accepted once', async () => {
    const flow = await compile({ each: { map: true } })
    const [runId] = await flow.start([1, 2])
    const [task, other] = await flow.claim('each')
    const settled = await core.settleTasks(flow.workerId, [completed(task!, 1), completed(task!, 1)])
    expect(settled.map((row) => row.accepted)).toEqual([true, false])
    expect((await flow.run(runId!)).status).toBe('started')
    await core.settleTasks(flow.workerId, [completed(other!, 1)])
    expect((await flow.run(runId!)).status).toBe('completed')
  })

  test('a current and a stale report of one task are told apart', async () => {
    const { flow, lost, held } = await lostAndFound('same')
    expect(await core.settleTasks(flow.workerId, [completed(lost, 'old'), completed(held, 'new')])).toMatchObject([
      { accepted: false, reason: 'task is completed' },
      { accepted: true },
    ])
    expect(await flow.claim('b')).toMatchObject([{ input: { a: 'new' } }])
  })

  test('the last two elements of a map complete it', async () => {
    const flow = await compile({ each: { map: true } })
    const [runId] = await flow.start([1, 2])
    await core.settleTasks(
      flow.workerId,
      (await flow.claim('each')).map((task) => completed(task, task.input)),
    )
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { each: [1, 2] } })
  })

  test('both parents of a step start it once', async () => {
    const flow = await compile({ a: {}, b: {}, join: { after: ['a', 'b'] } })
    await flow.start({})
    const tasks = [...(await flow.claim('a')), ...(await flow.claim('b'))]
    await core.settleTasks(
      flow.workerId,
      tasks.map((task) => completed(task, 1)),
    )
    expect(await flow.depth('join')).toBe(1)
  })

  test('settle_and_claim settles first, so that it can claim what it has made ready', async () => {
    const flow = await compile()
    await flow.start({})
    const [task] = await flow.claim('a')
    const work = await flow.work('b', { reports: [completed(task!, 'x'), completed(task!, 'x')] })
    expect(work).toMatchObject({
      claimed: [{ input: { a: 'x' } }],
      refused: [{ runId: task!.runId, stepSlug: 'a', taskIndex: 0 }],
    })
  })
})

test('a message is archived from the queue that its task names, also when the route was changed since', async () => {
  const flow = await compile({ a: {} })
  await flow.start({})
  const [task] = await flow.claim('a')
  await sql`update pgflow.steps set queue_name = ${`${flow.slug}__0`} where flow_slug = ${flow.slug}`
  await core.settleTasks(flow.workerId, [completed(task!, 1)])
  expect([await flow.depth('a'), await flow.archived('a')]).toEqual([0, 1])
})

test('a task whose message is gone can still be completed', async () => {
  const flow = await compile({ a: {} })
  const [runId] = await flow.start({})
  const [task] = await flow.claim('a')
  await sql`select pgmq.delete(${flow.queue('a')}, ${task!.messageId}::bigint)`
  expect(await core.settleTasks(flow.workerId, [completed(task!, 1)])).toMatchObject([{ accepted: true }])
  expect((await flow.run(runId!)).status).toBe('completed')
})

test.each([
  ['complete', 'fail'],
  ['fail', 'complete'],
] as const)(
  'of a simultaneous %s and %s on two connections the first is accepted and the second refused',
  async (first, second) => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    const report = (kind: 'complete' | 'fail') => (kind === 'complete' ? completed(task!, 1) : failed(task!))
    const [early, late] = [database.connect(), database.connect({ settings: { application_name: 'late' } })]
    let settlingLate: Promise<unknown> | undefined
    await early.begin(async (tx) => {
      expect(
        await new StarflowSql(tx as unknown as typeof sql).settleTasks(flow.workerId, [report(first)]),
      ).toMatchObject([{ accepted: true }])
      settlingLate = new StarflowSql(late).settleTasks(flow.workerId, [report(second)])
      await untilBlocked(sql, 'late')
    })
    expect(await settlingLate).toMatchObject([{ accepted: false }])
    await Promise.all([early.end(), late.end()])
    expect((await flow.run(runId!)).status).toBe(first === 'complete' ? 'completed' : 'failed')
  },
)

test('two connections that complete the two parents of a step at once start it once', async () => {
  const flow = await compile({ a: {}, b: {}, join: { after: ['a', 'b'] } })
  const [runId] = await flow.start({})
  const [[a], [b]] = [await flow.claim('a'), await flow.claim('b')]
  const [early, late] = [database.connect(), database.connect({ settings: { application_name: 'late parent' } })]
  let settlingLate: Promise<unknown> | undefined
  await early.begin(async (tx) => {
    await new StarflowSql(tx as unknown as typeof sql).settleTasks(flow.workerId, [completed(a!, 1)])
    settlingLate = new StarflowSql(late).settleTasks(flow.workerId, [completed(b!, 1)])
    await untilBlocked(sql, 'late parent')
  })
  expect(await settlingLate).toMatchObject([{ accepted: true }])
  await Promise.all([early.end(), late.end()])
  expect(await flow.depth('join')).toBe(1)
  await flow.drain(() => 1)
  expect((await flow.run(runId!)).status).toBe('completed')
})

test('two connections that complete the last two elements of a map at once give it both outputs', async () => {
  const flow = await compile({ each: { map: true } })
  const [runId] = await flow.start([0, 1])
  const tasks = await flow.claim('each')
  const [early, late] = [database.connect(), database.connect({ settings: { application_name: 'late element' } })]
  let settlingLate: Promise<unknown> | undefined
  await early.begin(async (tx) => {
    await new StarflowSql(tx as unknown as typeof sql).settleTasks(flow.workerId, [completed(tasks[0]!, 'early')])
    settlingLate = new StarflowSql(late).settleTasks(flow.workerId, [completed(tasks[1]!, 'late')])
    await untilBlocked(sql, 'late element')
  })
  expect(await settlingLate).toMatchObject([{ accepted: true }])
  await Promise.all([early.end(), late.end()])
  const outputs = tasks[0]!.taskIndex === 0 ? ['early', 'late'] : ['late', 'early']
  expect((await flow.run(runId!)).output).toEqual({ each: outputs })
})

test('two connections that settle the same runs in opposite order do not deadlock', async () => {
  const flow = await compile({ a: {}, b: {} })
  await flow.start(...Array.from({ length: 40 }, (_, n) => n))
  const [a, b] = [await flow.claim('a'), await flow.claim('b')]
  const [one, two] = [database.connect(), database.connect()]
  const settled = await Promise.all([
    new StarflowSql(one).settleTasks(
      flow.workerId,
      a.map((task) => completed(task, 1)),
    ),
    new StarflowSql(two).settleTasks(flow.workerId, b.map((task) => completed(task, 1)).reverse()),
  ])
  await Promise.all([one.end(), two.end()])
  expect(settled.flat().every((row) => row.accepted)).toBe(true)
  expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug} and status = 'completed'`).toHaveLength(40)
})

test('what a long transaction settles at its end is dated to its end, and so is what it starts', async () => {
  const flow = await compile()
  const [runId] = await flow.start({})
  const [task] = await flow.claim('a')
  await sql.begin(async (tx) => {
    await tx`select pg_sleep(0.3)`
    await new StarflowSql(tx as unknown as typeof sql).settleTasks(flow.workerId, [completed(task!, 1)])
  })
  const [times] = await sql`
    select a.completed_at - a.started_at >= interval '0.3 s' as lasted, t.completed_at >= a.completed_at as settled,
           b.started_at >= a.completed_at as ordered
    from pgflow.step_states a
    join pgflow.step_tasks t on t.run_id = a.run_id and t.step_slug = a.step_slug
    join pgflow.step_states b on b.run_id = a.run_id and b.step_slug = 'b'
    where a.run_id = ${runId!} and a.step_slug = 'a'`
  expect(times).toEqual({ lasted: true, settled: true, ordered: true })
})
