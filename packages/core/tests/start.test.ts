import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>) => CompiledFlow.compileShape(sql, `start${++count}`, shape(steps))

describe('the span of a start', () => {
  const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  /** The span of a run that is started with these settings. */
  const kept = async (settings: Record<string, string>) => {
    const flow = await compile({ a: {} })
    return await sql.begin(async (tx) => {
      for (const [name, value] of Object.entries(settings)) await tx`select set_config(${name}, ${value}, true)`
      const runs = await tx`select traceparent from pgflow.start_flows(${flow.slug}, '[1, 2]')`
      return runs.map((run) => run.traceparent)
    })
  }

  test('is what its caller has set, or the header of its request, and stays with each run', async () => {
    expect(await kept({ 'pgflow.traceparent': TRACEPARENT })).toEqual([TRACEPARENT, TRACEPARENT])
    const headers = JSON.stringify({ accept: '*/*', traceparent: TRACEPARENT })
    expect(await kept({ 'request.headers': headers })).toEqual([TRACEPARENT, TRACEPARENT])
    const other = TRACEPARENT.replace('b7', 'b8')
    expect(await kept({ 'request.headers': headers, 'pgflow.traceparent': other })).toEqual([other, other])
  })

  test.each([
    ['none', ''],
    ['of no trace', TRACEPARENT.replace(/-0af.{29}-/, `-${'0'.repeat(32)}-`)],
    ['of no span', TRACEPARENT.replace(/-b7.{14}-/, `-${'0'.repeat(16)}-`)],
    ['of a version that cannot be', TRACEPARENT.replace(/^00/, 'ff')],
    ['in capitals', TRACEPARENT.toUpperCase()],
    ['that is anything else', `'; drop table runs; --`],
    ['that is too long', `${TRACEPARENT}-${'x'.repeat(100)}`],
  ])('is null for one %s', async (_, traceparent) => {
    expect(await kept({ 'pgflow.traceparent': traceparent })).toEqual([null, null])
    expect(await kept({ 'request.headers': JSON.stringify({ traceparent }) })).toEqual([null, null])
  })
})

describe('start_flow', () => {
  test('gives the run back, with its first tasks queued', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    const [run] = await sql`select * from pgflow.start_flow(${flow.slug}, '{"x": 1}')`
    expect(run).toMatchObject({
      flow_slug: flow.slug,
      status: 'started',
      input: { x: 1 },
      output: null,
      remaining_steps: 2,
    })
    expect(await flow.steps(run!.run_id)).toEqual({ a: 'started', b: 'created' })
    const [message] = await sql.unsafe(`select message from pgmq.q_${flow.queue('a')}`)
    expect(message).toEqual({ message: { flow_slug: flow.slug, run_id: run!.run_id, step_slug: 'a', task_index: 0 } })
  })

  test('names a flow that does not exist', async () => {
    expect(await refusal(sql`select pgflow.start_flow('nowhere', '{}')`)).toMatchObject({
      code: 'SF201',
      message: 'Flow "nowhere" does not exist.',
    })
  })

  test('offers the spelling that exists for a slug in another case', async () => {
    const flow = await compile({ a: {} })
    expect(await refusal(sql`select pgflow.start_flow(${flow.slug.toUpperCase()}, '{}')`)).toMatchObject({
      code: 'SF201',
      hint: `Did you mean "${flow.slug}"? Slugs are case-sensitive.`,
    })
  })

  test('refuses an input that is NULL and starts nothing', async () => {
    const flow = await compile({ a: {} })
    expect((await refusal(sql`select pgflow.start_flow(${flow.slug}, null)`)).code).toBe('SF203')
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
  })

  test('gives the existing run back for the same run_id, unchanged', async () => {
    const flow = await compile({ a: {} })
    const runId = randomUUID()
    const [first] = await sql`select * from pgflow.start_flow(${flow.slug}, '{"n": 1}', ${runId})`
    const [again] = await sql`select * from pgflow.start_flow(${flow.slug}, '{"n": 2}', ${runId})`
    expect(again).toEqual(first)
    expect(await flow.depth('a')).toBe(1)
  })

  test('refuses a run_id that belongs to another flow', async () => {
    const [flow, other] = [await compile({ a: {} }), await compile({ a: {} })]
    const runId = randomUUID()
    await sql`select pgflow.start_flow(${other.slug}, '{}', ${runId})`
    expect(await refusal(sql`select pgflow.start_flow(${flow.slug}, '{}', ${runId})`)).toMatchObject({
      code: 'SF202',
      message: `Run ${runId} already exists and belongs to flow "${other.slug}".`,
    })
  })

  test('by eight callers with one run_id starts one run', async () => {
    const flow = await compile({ a: {} })
    const runId = randomUUID()
    const many = database.connect({ connections: 8 })
    const runs = await Promise.all(
      Array.from({ length: 8 }, (_, n) => many`select * from pgflow.start_flow(${flow.slug}, ${n}, ${runId})`),
    )
    await many.end()
    expect(new Set(runs.map(([run]) => JSON.stringify(run))).size).toBe(1)
    expect(await flow.depth('a')).toBe(1)
  })

  test('of a flow without steps completes at once with an empty output', async () => {
    const slug = `start${++count}`
    await CompiledFlow.compileShape(sql, slug, shape({}), 'flow')
    const [run] = await sql`select status, output, remaining_steps from pgflow.start_flow(${slug}, '{}')`
    expect(run).toEqual({ status: 'completed', output: {}, remaining_steps: 0 })
  })

  test.each([
    ['an idempotency key that is too long', { key: 'ü'.repeat(513), at: null }, 'It has 1026 bytes; 1024 are allowed.'],
    ['a start at infinity', { key: null, at: 'infinity' }, 'It would be open for ever.'],
  ])('refuses %s, and starts nothing', async (_what, { key, at }, detail) => {
    const flow = await CompiledFlow.compileShape(sql, `refused${++count}`, shape({ a: {} }))
    const refused = await refusal(
      sql`select pgflow.start_flow(${flow.slug}, '{}', idempotency_key => ${key}, start_at => ${at}::text::timestamptz)`,
    )
    expect(refused).toMatchObject({ code: 'SF203', detail })
    expect(refused.message).toContain(`"${flow.slug}"`)
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
  })

  test('refuses an idempotency key that is too long wherever a run may be started', async () => {
    const key = 'ü'.repeat(513)
    const refused = [
      await refusal(sql`select starflow.start_queue_run('w', 'prod', 'any', '{}', ${key})`),
      await refusal(
        sql`select starflow.enqueue_run(${randomUUID()}, 'any', 'w', 'prod', '{}', idempotency_key => ${key})`,
      ),
    ]
    expect(refused.map(({ code }) => code)).toEqual(['SF203', 'SF203'])
  })

  test('takes an idempotency key of the longest kind', async () => {
    const flow = await CompiledFlow.compileShape(sql, `keyed${++count}`, shape({ a: {} }))
    const key = Array.from({ length: 32 }, () => randomUUID().replaceAll('-', '')).join('')
    const start = async () =>
      (await sql`select run_id from pgflow.start_flow(${flow.slug}, '{}', idempotency_key => ${key})`)[0]!.run_id
    expect(await start()).toBe(await start())
  })

  test('hides the first message for the start delay of its step', async () => {
    const flow = await compile({ a: { startDelay: 100 }, b: {} })
    await flow.start({})
    const [row] = await sql.unsafe(
      `select extract(epoch from vt - enqueued_at)::integer as hidden from pgmq.q_${flow.queue('a')}`,
    )
    expect(row).toEqual({ hidden: 100 })
    expect(await flow.claim('a')).toEqual([])
    expect(await flow.claim('b')).toHaveLength(1)
  })
})

describe('start_flows', () => {
  test('starts one run for each input and answers them in order', async () => {
    const flow = await compile({ a: {} })
    const rows = await sql`select input from pgflow.start_flows(${flow.slug}, '[3, "x", null, [1], {"a": 1}]')`
    expect(rows.map((row) => row.input)).toEqual([3, 'x', null, [1], { a: 1 }])
    expect(await flow.depth('a')).toBe(5)
  })

  test('starts nothing for no inputs', async () => {
    const flow = await compile({ a: {} })
    expect(await sql`select * from pgflow.start_flows(${flow.slug}, '[]')`).toHaveLength(0)
  })

  test('gives runs back for run ids that it has seen, and starts only the new ones', async () => {
    const flow = await compile({ a: {} })
    const [a, b] = [randomUUID(), randomUUID()]
    await flow.core.startFlows(flow.slug, [1], [a])
    expect(await flow.core.startFlows(flow.slug, [7, 8], [a, b])).toEqual([a, b])
    expect(await sql`select input from pgflow.runs where flow_slug = ${flow.slug} order by input`).toEqual([
      { input: 1 },
      { input: 8 },
    ])
    expect(await flow.depth('a')).toBe(2)
  })

  test.each([
    ['begins at another subscript', ([a, b]: string[]) => `[7:8]={${a},${b}}`],
    ['is an array of arrays', ([a, b]: string[]) => `{{${a},${b}}}`],
  ])('takes run ids in their order, also where their array %s', async (_how, literal) => {
    const flow = await CompiledFlow.compileShape(sql, `subscripts${++count}`, shape({ a: {} }))
    const ids = [randomUUID(), randomUUID()]
    const rows = await sql`
      select run_id, input from pgflow.start_flows(${flow.slug}, '["x", "y"]', ${literal(ids)}::text::uuid[])`
    expect(rows).toEqual([
      { run_id: ids[0], input: 'x' },
      { run_id: ids[1], input: 'y' },
    ])
  })

  test('refuses the whole call when one run id belongs to another flow', async () => {
    const [flow, other] = [await compile({ a: {} }), await compile({ a: {} })]
    const [taken] = await other.start({})
    expect((await refusal(flow.core.startFlows(flow.slug, [1, 2], [randomUUID(), taken!]))).code).toBe('SF202')
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
    expect(await flow.depth('a')).toBe(0)
  })

  test.each([
    ['inputs that are no array', `'{}'::jsonb`],
    ['inputs that are NULL', 'null'],
    ['fewer run ids than inputs', `'[1, 2]'::jsonb, array[gen_random_uuid()]`],
  ])('refuses %s', async (_, args) => {
    const flow = await compile({ a: {} })
    expect((await refusal(sql.unsafe(`select pgflow.start_flows('${flow.slug}', ${args})`))).code).toBe('SF203')
  })

  test('gives time-ordered run ids', async () => {
    const flow = await compile({ a: {} })
    const [first] = await flow.start({})
    await sql`select pg_sleep(0.002)`
    const [second] = await flow.start({})
    expect(first! < second!).toBe(true)
    expect(first![14]).toBe('7')
  })
})

test('the run output is the object of its completed leaf steps', async () => {
  const flow = await compile({ a: {}, leaf1: { after: ['a'] }, leaf2: { after: ['a'] }, leaf3: { if: { x: 1 } } })
  const [runId] = await flow.start({})
  await flow.drain((task) => ({ of: task.stepSlug }))
  expect((await flow.run(runId!)).output).toEqual({ leaf1: { of: 'leaf1' }, leaf2: { of: 'leaf2' } })
})

test('only a root step that is no map is given the run input, and a dependent one its dependencies', async () => {
  const flow = await compile({ a: {}, b: { after: ['a'] }, c: { after: ['a', 'b'] } })
  await flow.start({ hello: 1 })
  const seen: Record<string, unknown> = {}
  await flow.drain((task) => {
    seen[task.stepSlug] = [task.input, task.flowInput]
    return task.stepSlug
  })
  expect(seen).toEqual({ a: [{}, { hello: 1 }], b: [{ a: 'a' }, null], c: [{ a: 'a', b: 'b' }, null] })
})

test('a database clock that steps back trips no constraint', async () => {
  const flow = await compile({
    list: { maxAttempts: 2, baseDelay: 0 },
    each: { map: true, after: ['list'] },
    gate: { after: ['each'], if: { each: [9] } },
  })
  await sql`select pgflow.set_setting('test_clock', 'on')`
  const clock = database.connect({ connections: 1 })
  const behind = async (seconds: number) => {
    await clock`select set_config('pgflow.test_now', (now() - make_interval(secs => ${seconds}))::text, false)`
  }
  const call = async (queue: string, step: string, reports: unknown[]) => {
    const rows = await clock<
      { kind: string; run_id: string; step_slug: string; task_index: number; attempt: number }[]
    >`
      select * from pgflow.settle_and_claim(${flow.workerId}, ${JSON.stringify(reports)}::text::jsonb, ${queue}, ${flow.slug}, 10, ${step})`
    return rows.filter((row) => row.kind === 'claimed')
  }
  const report = (task: object, rest: object) => ({ ...task, ...rest })
  await behind(0)
  const [run] = await clock<{ run_id: string }[]>`select run_id from pgflow.start_flow(${flow.slug}, '{}')`
  await behind(10)
  const [first] = await call(flow.queue('list'), 'list', [])
  await behind(20)
  const [second] = await call(flow.queue('list'), 'list', [report(first!, { status: 'failed', error_message: 'x' })])
  await behind(30)
  expect(second?.attempt).toBe(2)
  await behind(40)
  await call(flow.queue('list'), 'list', [report(second!, { status: 'completed', output: '[1, 2]' })])
  await behind(50)
  const elements = await call(flow.queue('each'), 'each', [])
  await behind(60)
  await call(
    flow.queue('each'),
    'each',
    elements.map((task) => report(task, { status: 'completed', output: '0' })),
  )
  await clock.end()
  await sql`select pgflow.set_setting('test_clock', null)`
  expect(await flow.run(run!.run_id)).toMatchObject({ status: 'completed' })
})

describe('a database clock that has gone back 2 s before each call trips no constraint when a run', () => {
  type Task = Awaited<ReturnType<CompiledFlow['claim']>>[number]
  const fail = (flow: CompiledFlow, [task]: readonly Task[]) =>
    flow.core.settleTasks(flow.workerId, [failed(task!, { permanent: true })])
  const ends: [
    string,
    string,
    (flow: CompiledFlow, tasks: readonly Task[], runId: string, clock: Sql, earlier: () => Promise<void>) => unknown,
  ][] = [
    ['fails', 'failed', (flow, tasks) => fail(flow, tasks)],
    ['is cancelled', 'cancelled', (_flow, _tasks, runId, clock) => clock`select pgflow.cancel_run(${runId})`.execute()],
    [
      'is given back in its last attempt',
      'failed',
      (flow, [task]) => flow.core.releaseTasks(flow.workerId, [{ ...task!, started: true }]),
    ],
    [
      'fails, is retried and completes',
      'completed',
      async (flow, tasks, runId, clock, earlier) => {
        await fail(flow, tasks)
        await earlier()
        await clock`select pgflow.retry_run(${runId})`
        await earlier()
        const [again] = await flow.claim('a')
        await earlier()
        await flow.core.settleTasks(flow.workerId, [completed(again!, 1)])
      },
    ],
  ]

  test.each(ends)('%s', async (_, status, end) => {
    await sql`select pgflow.set_setting('test_clock', 'on')`
    const clock = database.connect({ connections: 1 })
    let seconds = 0
    const earlier = async () => {
      seconds += 2
      await clock`select set_config('pgflow.test_now', (now() - make_interval(secs => ${seconds}))::text, false)`
    }
    const flow = await CompiledFlow.compileShape(clock, `start${++count}`, shape({ a: { maxAttempts: 1 }, b: {} }))
    await earlier()
    const [runId] = await flow.start({})
    await earlier()
    const tasks = await flow.claim('a')
    await earlier()
    const [other] = await flow.claim('b')
    await earlier()
    await flow.core.settleTasks(flow.workerId, [completed(other!, 1)])
    await earlier()
    await end(flow, tasks, runId!, clock, earlier)
    expect(await flow.run(runId!)).toMatchObject({ status })
    expect(await sql`select from pgflow.task_attempts where run_id = ${runId!} and ended_at < started_at`).toHaveLength(
      0,
    )
    await clock.end()
    await sql`select pgflow.set_setting('test_clock', null)`
  })
})
