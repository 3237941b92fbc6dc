import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { expectAllWell } from './support/oracle.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const { sql } = await testDatabase()

let count = 0
const compile = (steps: Record<string, StepSketch>, mode: 'flow' | 'step' = 'step') =>
  CompiledFlow.compileShape(sql, `pause${++count}`, shape(steps, { baseDelay: 0 }), mode)

describe('while a flow is paused', () => {
  test('nothing of it is claimed, and its messages are not even read', async () => {
    const flow = await compile({ a: {} })
    await flow.start(1, 2)
    await sql`select pgflow.pause_flow(${flow.slug})`
    expect(await flow.work('a')).toMatchObject({ worker: 'running', claimed: [], unsupported: [] })
    expect(await sql.unsafe(`select distinct read_ct::integer from pgmq.q_${flow.queue('a')}`)).toEqual([
      { read_ct: 0 },
    ])
  })

  test('a released caller is given no task either, and no attempt is counted', async () => {
    const flow = await compile({ a: {} }, 'flow')
    await flow.start({})
    await sql`select pgflow.pause_flow(${flow.slug})`
    const messages = await sql<{ msg_id: string }[]>`select msg_id from pgmq.read(${flow.slug}, 1, 10)`
    const ids = messages.map((message) => message.msg_id)
    expect(ids).toHaveLength(1)
    expect(await sql`select * from pgflow.start_tasks(${flow.slug}, ${ids}::bigint[], ${flow.workerId})`).toHaveLength(
      0,
    )
    await sql`select pgflow.resume_flow(${flow.slug})`
    expect(await sql`select attempts_count from pgflow.step_tasks where flow_slug = ${flow.slug}`).toEqual([
      { attempts_count: 0 },
    ])
  })

  test('started tasks settle, and what they make ready waits', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await sql`select pgflow.pause_flow(${flow.slug})`
    expect(await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])).toMatchObject([{ accepted: true }])
    expect(await flow.steps(runId!)).toEqual({ a: 'completed', b: 'started' })
    expect(await flow.claim('b')).toEqual([])
    await expectAllWell(sql)
  })

  test('a failed attempt is queued again and waits too', async () => {
    const flow = await compile({ a: { maxAttempts: 2 } })
    await flow.start({})
    const [task] = await flow.claim('a')
    await sql`select pgflow.pause_flow(${flow.slug})`
    await flow.core.settleTasks(flow.workerId, [failed(task!)])
    expect(await flow.claim('a')).toEqual([])
    expect(await flow.depth('a')).toBe(1)
  })

  test('runs can be started, cancelled and retried, and wait', async () => {
    const flow = await compile({ a: {} })
    await sql`select pgflow.pause_flow(${flow.slug})`
    const [runId] = await flow.start({})
    await sql`select pgflow.cancel_run(${runId!})`
    await sql`select pgflow.retry_run(${runId!})`
    expect(await flow.claim('a')).toEqual([])
    await sql`select pgflow.resume_flow(${flow.slug})`
    await flow.drain(() => 'done')
    expect((await flow.run(runId!)).output).toEqual({ a: 'done' })
  })

  test('other flows go on', async () => {
    const [paused, other] = [await compile({ a: {} }), await compile({ a: {} })]
    await other.start({})
    await sql`select pgflow.pause_flow(${paused.slug})`
    expect(await other.claim('a')).toHaveLength(1)
  })
})

test('resuming gives the queued work out at once, in its order', async () => {
  const flow = await compile({ a: {} })
  const runIds = await flow.start(1, 2, 3)
  await sql`select pgflow.pause_flow(${flow.slug})`
  expect(await flow.claim('a')).toEqual([])
  await sql`select pgflow.resume_flow(${flow.slug})`
  expect((await flow.claim('a')).map((task) => task.runId)).toEqual(runIds)
})

test('pausing twice keeps the time of the first, and resuming twice is fine', async () => {
  const flow = await compile({ a: {} })
  const pausedAt = async () =>
    (await sql`select paused_at from pgflow.flows where flow_slug = ${flow.slug}`)[0]!.paused_at
  await sql`select pgflow.pause_flow(${flow.slug})`
  const first = await pausedAt()
  expect(first).toBeInstanceOf(Date)
  await sql`select pgflow.pause_flow(${flow.slug})`
  expect(await pausedAt()).toEqual(first)
  await sql`select pgflow.resume_flow(${flow.slug}), pgflow.resume_flow(${flow.slug})`
  expect(await pausedAt()).toBeNull()
})

test.each(['pause_flow', 'resume_flow'])('%s names an unknown flow and those that are known', async (name) => {
  await compile({ a: {} })
  expect(await refusal(sql.unsafe(`select pgflow.${name}('nowhere')`))).toMatchObject({
    code: 'SF201',
    message: 'Flow "nowhere" does not exist.',
    detail: expect.stringContaining('pause1'),
  })
})

test('a paused flow stays paused when its worker starts again', async () => {
  const flow = await compile({ a: {} })
  await sql`select pgflow.pause_flow(${flow.slug})`
  const result = await flow.core.ensureFlowCompiled({
    flowSlug: flow.slug,
    shape: shape({ a: {} }, { baseDelay: 0 }),
    queueMode: 'step',
    routeMap: null,
  })
  expect(result.status).toBe('verified')
  await flow.start({})
  expect(await flow.claim('a')).toEqual([])
})
