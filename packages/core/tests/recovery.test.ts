import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

let count = 0
const compile = (steps: Record<string, StepSketch>, options = {}) =>
  CompiledFlow.compileShape(sql, `recover${++count}`, shape(steps, options))

/** Claims step a, lets that many seconds go by, and recovers. */
const stall = async (flow: CompiledFlow, runId: string, seconds: number) => {
  await flow.reveal('a')
  await flow.claim('a')
  await flow.age(runId, seconds)
  return await core.requeueStalledTasks()
}

describe('a started task is stalled', () => {
  test.each([
    [39, 0],
    [41, 1],
  ])('%d s after its start with a step timeout of 10 s: %d requeued', async (seconds, requeued) => {
    const flow = await compile({ a: { timeout: 10 } }, { timeout: 3600 })
    const [runId] = await flow.start({})
    expect(await stall(flow, runId!, seconds)).toBe(requeued)
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  })

  test.each([
    [129, 0],
    [131, 1],
  ])(
    '%d s after its start with the flow timeout of 100 s, where the step has none: %d requeued',
    async (seconds, requeued) => {
      const flow = await compile({ a: {} }, { timeout: 100 })
      const [runId] = await flow.start({})
      expect(await stall(flow, runId!, seconds)).toBe(requeued)
      await sql`select pgflow.delete_flow_and_data(${flow.slug})`
    },
  )

  test('but never while its run is over', async () => {
    const flow = await compile({ a: { timeout: 1 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await sql`update pgflow.runs set status = 'failed', failed_at = now() where run_id = ${runId!}`
    await flow.age(runId!, 1000)
    expect(await core.requeueStalledTasks()).toBe(0)
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'started' }])
  })
})

describe('a stalled task', () => {
  test('is queued again and visible at once, its attempt counted and kept', async () => {
    const flow = await compile({ a: { timeout: 10 } })
    const [runId] = await flow.start({})
    expect(await stall(flow, runId!, 60)).toBe(1)
    const [task] =
      await sql`select status, requeued_count, attempts_count, attempts_forgiven, last_requeued_at is not null as is_dated from pgflow.step_tasks where run_id = ${runId!}`
    expect(task).toEqual({
      status: 'queued',
      requeued_count: 1,
      attempts_count: 1,
      attempts_forgiven: 0,
      is_dated: true,
    })
    expect(await flow.hidden('a')).toEqual([0])
    expect(await sql`select attempt, worker_id, reason from pgflow.task_attempts where run_id = ${runId!}`).toEqual([
      { attempt: 1, worker_id: flow.workerId, reason: 'stalled' },
    ])
    expect(await flow.claim('a')).toMatchObject([{ attempt: 2 }])
  })

  test('that used up its attempts ends as failed, permanently stalled, and its run fails', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 1 } })
    const [runId] = await flow.start({})
    expect(await stall(flow, runId!, 60)).toBe(0)
    const [task] =
      await sql`select status, permanently_stalled_at is not null as is_stalled, failed_at is not null as has_failed, error_message from pgflow.step_tasks where run_id = ${runId!}`
    expect(task).toMatchObject({
      status: 'failed',
      is_stalled: true,
      has_failed: true,
      error_message: expect.stringMatching(/^Stalled: no report came back in 1 attempts/),
    })
    expect((await flow.run(runId!)).status).toBe('failed')
    expect([await flow.depth('a'), await flow.archived('a')]).toEqual([0, 1])
  })

  test('ends after max_requeues requeues although it has attempts left', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 50 } })
    const [runId] = await flow.start({})
    const requeued: number[] = []
    for (let pass = 0; pass < 4; pass++) requeued.push(await stall(flow, runId!, 60))
    expect(requeued).toEqual([1, 1, 1, 0])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'failed', attempts_count: 4 }])
  })

  test('may be requeued as often as the setting max_requeues says', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 50 } })
    const [runId] = await flow.start({})
    await core.setSetting('max_requeues', '1')
    expect([await stall(flow, runId!, 60), await stall(flow, runId!, 60)]).toEqual([1, 0])
    await core.setSetting('max_requeues', null)
    expect((await flow.run(runId!)).status).toBe('failed')
  })

  test('that ends applies when_exhausted, so that the run goes on', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 1, whenExhausted: 'skip' }, b: { after: ['a'] } })
    const [runId] = await flow.start({})
    await stall(flow, runId!, 60)
    expect(await flow.steps(runId!)).toEqual({ a: 'skipped: handler_failed', b: 'started' })
    await flow.drain(() => 'fine')
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { b: 'fine' } })
  })

  test('that ends with when_exhausted skip-cascade skips what is below', async () => {
    const flow = await compile({
      a: { timeout: 10, maxAttempts: 1, whenExhausted: 'skip-cascade' },
      b: { after: ['a'] },
    })
    const [runId] = await flow.start({})
    await stall(flow, runId!, 60)
    expect(await flow.steps(runId!)).toEqual({ a: 'skipped: handler_failed', b: 'skipped: dependency_skipped' })
    expect((await flow.run(runId!)).status).toBe('completed')
  })

  test('does not lose attempts that failed before: three failures and a crash are four', async () => {
    const flow = await compile({ a: { timeout: 10, maxAttempts: 4, baseDelay: 0 } })
    const [runId] = await flow.start({})
    for (let attempt = 0; attempt < 3; attempt++) {
      const [task] = await flow.claim('a')
      await core.settleTasks(flow.workerId, [failed(task!)])
    }
    expect(await stall(flow, runId!, 60)).toBe(0)
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'failed', attempts_count: 4 }])
  })

  test('whose run another connection holds waits for the next pass, and holds up nobody', async () => {
    const flow = await compile({ a: { timeout: 10 } })
    const [busy, free] = await flow.start(1, 2)
    await flow.claim('a')
    await flow.age(busy!, 60)
    await flow.age(free!, 60)
    const other = database.connect()
    const impatient = database.connect({ settings: { lock_timeout: '100ms' } })
    await other.begin(async (tx) => {
      await tx`select from pgflow.runs where run_id = ${busy!} for update`
      expect(await new StarflowSql(impatient).requeueStalledTasks()).toBe(1)
    })
    await Promise.all([other.end(), impatient.end()])
    expect(await flow.tasks(busy!)).toMatchObject([{ status: 'started' }])
    expect(await core.requeueStalledTasks()).toBe(1)
  })
})

test('several stalled elements of a map are recovered by themselves, the others go on', async () => {
  const flow = await compile({ each: { map: true, timeout: 10 } })
  const [runId] = await flow.start([0, 1, 2, 3])
  const tasks = await flow.claim('each')
  await sql`update pgflow.step_tasks set started_at = started_at - interval '60 s', queued_at = queued_at - interval '60 s' where run_id = ${runId!} and task_index < 2`
  await flow.reveal('each')
  expect(await core.requeueStalledTasks()).toBe(2)
  await core.settleTasks(
    flow.workerId,
    tasks.filter((task) => task.taskIndex >= 2).map((task) => completed(task, 'first')),
  )
  await flow.drain(() => 'second')
  expect((await flow.run(runId!)).output).toEqual({ each: ['second', 'second', 'first', 'first'] })
})

test('a run whose every worker dies comes to an end by recovery alone', async () => {
  const flow = await compile({ a: { timeout: 10, maxAttempts: 100 }, b: { after: ['a'] } })
  const [runId] = await flow.start({})
  for (let pass = 0; (await flow.run(runId!)).status === 'started'; pass++) {
    expect(pass).toBeLessThan(10)
    await stall(flow, runId!, 60)
  }
  expect((await flow.run(runId!)).status).toBe('failed')
})

describe('a released task', () => {
  test('that was not started is queued at once and its attempt is forgiven', async () => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    expect(await core.releaseTasks(flow.workerId, [{ ...task!, started: false }])).toBe(1)
    expect(await flow.hidden('a')).toEqual([0])
    expect(
      await sql`select status, attempts_count, attempts_forgiven from pgflow.step_tasks where run_id = ${runId!}`,
    ).toEqual([{ status: 'queued', attempts_count: 1, attempts_forgiven: 1 }])
    expect(await sql`select reason from pgflow.task_attempts where run_id = ${runId!}`).toEqual([
      { reason: 'released' },
    ])
    const [again] = await flow.claim('a')
    expect(again!.attempt).toBe(2)
    await core.settleTasks(flow.workerId, [completed(again!, 1)])
    expect((await flow.run(runId!)).status).toBe('completed')
  })

  test('that was forgiven has its whole budget left', async () => {
    const flow = await compile({ a: { maxAttempts: 2, baseDelay: 10 } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await core.releaseTasks(flow.workerId, [{ ...task!, started: false }])
    const [second] = await flow.claim('a')
    await core.settleTasks(flow.workerId, [failed(second!)])
    expect(await flow.hidden('a')).toEqual([20])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 2 }])
    await flow.reveal('a')
    const [third] = await flow.claim('a')
    await core.settleTasks(flow.workerId, [failed(third!)])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'failed', attempts_count: 3 }])
  })

  test('that was started is queued at once and its attempt counts', async () => {
    const flow = await compile({ a: { maxAttempts: 2, baseDelay: 100 } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    expect(await core.releaseTasks(flow.workerId, [{ ...task!, started: true }])).toBe(1)
    expect(await flow.hidden('a')).toEqual([0])
    expect(
      await sql`select status, attempts_count, attempts_forgiven from pgflow.step_tasks where run_id = ${runId!}`,
    ).toEqual([{ status: 'queued', attempts_count: 1, attempts_forgiven: 0 }])
  })

  test('that was started in its last attempt ends as failed', async () => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    expect(await core.releaseTasks(flow.workerId, [{ ...task!, started: true }])).toBe(1)
    expect(await flow.tasks(runId!)).toMatchObject([
      { status: 'failed', error_message: 'The worker shut down before the handler ended' },
    ])
    expect((await flow.run(runId!)).status).toBe('failed')
  })

  test('of another worker is not given back', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    const other = await flow.register(randomUUID())
    expect(await core.releaseTasks(other, [{ ...task!, started: false }])).toBe(0)
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'started' }])
  })

  test('goes back together with others, of which only those still held are counted', async () => {
    const flow = await compile({ a: {} })
    await flow.start(1, 2, 3)
    const [one, two, three] = await flow.claim('a')
    await core.settleTasks(flow.workerId, [completed(one!, 1)])
    const released = await core.releaseTasks(flow.workerId, [
      { ...one!, started: true },
      { ...two!, started: false },
      { ...three!, started: true },
    ])
    expect(released).toBe(2)
    expect(await flow.claim('a')).toHaveLength(2)
  })

  test('goes back although other entries of the call name nothing, and those alone are not counted', async () => {
    const flow = await compile({ a: {} })
    await flow.start(1, 2)
    const [one, two] = await flow.claim('a')
    const entry = (task: typeof one, started: unknown) => ({
      run_id: task!.runId,
      step_slug: task!.stepSlug,
      task_index: task!.taskIndex,
      attempt: task!.attempt,
      started,
    })
    const entries = [
      { ...entry(one, false), run_id: 'no uuid' },
      { ...entry(one, true), run_id: null },
      { ...entry(one, false), attempt: 2 ** 40 },
      { ...entry(one, false), task_index: 'first' },
      entry(one, 'perhaps'),
      {},
      7,
      null,
      [],
      entry(one, false),
      entry(two, true),
    ]
    expect(
      await sql`select pgflow.release_tasks(${flow.workerId}, ${JSON.stringify(entries)}::text::jsonb) as released`,
    ).toEqual([{ released: 2 }])
    expect(await flow.claim('a')).toHaveLength(2)
  })

  test('may be none at all', async () => {
    expect(await core.releaseTasks(randomUUID(), [])).toBe(0)
  })
})

test('a damaged run does not keep others from being recovered, and is named', async () => {
  const flow = await compile({ a: { timeout: 10, maxAttempts: 1, whenExhausted: 'skip' }, b: { after: ['a'] } })
  const [damaged, sound] = await flow.start(1, 2)
  await flow.claim('a')
  await sql`update pgflow.step_states set remaining_deps = 0 where run_id = ${damaged!} and step_slug = 'b'`
  await flow.age(damaged!, 100)
  await flow.age(sound!, 100)
  await core.requeueStalledTasks()
  expect(await flow.steps(sound!)).toEqual({ a: 'skipped: handler_failed', b: 'started' })
  expect(await flow.steps(damaged!)).toEqual({ a: 'started', b: 'created' })
  expect(await sql`select run_id, reason from pgflow.liveness_audit`).toEqual([
    { run_id: damaged, reason: 'waits for 0 dependencies by its counter, but 1 are open' },
  ])
  await sql`select pgflow.delete_flow_and_data(${flow.slug})`
})
