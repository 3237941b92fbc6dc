import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { type StepSketch, shape } from './support/shape.ts'

const { sql } = await testDatabase()

let count = 0
const compile = (steps: Record<string, StepSketch>, options = {}) =>
  CompiledFlow.compileShape(sql, `retry${++count}`, shape(steps, options))

/** Fails the only task of step a, and gives how long its message is hidden then. */
const failOnce = async (flow: CompiledFlow, failure: Parameters<typeof failed>[1] = {}) => {
  await flow.reveal('a')
  const [task] = await flow.claim('a')
  await flow.core.settleTasks(flow.workerId, [failed(task!, failure)])
  return (await flow.hidden('a'))[0]
}

describe('calculate_retry_delay', () => {
  test.each([
    [1, 1, 2],
    [5, 1, 10],
    [5, 3, 40],
    [0, 9, 0],
    [0.5, 1, 1],
    [1, 0, 1],
    [1, 1000, 2_147_483_647],
    [2_000_000_000, 1, 2_147_483_647],
  ])('of base %d after attempt %d is %d seconds', async (base, attempts, seconds) => {
    expect(await sql`select pgflow.calculate_retry_delay(${base}, ${attempts}) as delay`).toEqual([{ delay: seconds }])
  })
})

describe('the delay before the next attempt', () => {
  test('is base × 2 after the first failure, and doubles with each', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 10, maxAttempts: 5 })
    await flow.start({})
    const delays = [await failOnce(flow), await failOnce(flow), await failOnce(flow)]
    expect(delays).toEqual([20, 40, 80])
  })

  test('of a step goes before that of its flow', async () => {
    const flow = await compile({ a: { baseDelay: 50 } }, { baseDelay: 10 })
    await flow.start({})
    expect(await failOnce(flow)).toBe(100)
  })

  test('is at most the step max_delay, or else that of the flow', async () => {
    const own = await compile({ a: { maxDelay: 30 } }, { baseDelay: 100, maxDelay: 60 })
    const inherited = await compile({ a: {} }, { baseDelay: 100, maxDelay: 60 })
    await own.start({})
    await inherited.start({})
    expect([await failOnce(own), await failOnce(inherited)]).toEqual([30, 60])
  })

  test('saturates at one day, whatever the base', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 2_000_000_000 })
    await flow.start({})
    expect(await failOnce(flow)).toBe(86_400)
  })

  test('is capped by the setting max_retry_delay', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 1000 })
    await flow.start({})
    await flow.core.setSetting('max_retry_delay', '15')
    expect(await failOnce(flow)).toBe(15)
    await flow.core.setSetting('max_retry_delay', null)
  })

  test('is what the handler chose, up to one day', async () => {
    const flow = await compile({ a: { maxDelay: 2 } }, { baseDelay: 10, maxAttempts: 5 })
    await flow.start({})
    expect(await failOnce(flow, { retryDelaySeconds: 7 })).toBe(7)
    expect(await failOnce(flow, { retryDelaySeconds: 0 })).toBe(0)
    expect(await failOnce(flow, { retryDelaySeconds: 1e12 })).toBe(86_400)
  })

  test('is the own one of the step when the chosen one is negative', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 10 })
    await flow.start({})
    expect(await failOnce(flow, { retryDelaySeconds: -1 })).toBe(20)
  })
})

describe('a failed attempt with attempts left', () => {
  test('queues the task again, keeps its error and its message, and leaves a row of its history', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [
      failed(task!, { errorMessage: 'no luck', error: { name: 'TypeError', stack: 'at a.ts:1' } }),
    ])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'queued', attempts_count: 1, error_message: 'no luck' }])
    expect(await flow.depth('a')).toBe(1)
    expect(await sql`select * from pgflow.task_attempts where run_id = ${runId!}`).toMatchObject([
      {
        step_slug: 'a',
        task_index: 0,
        attempt: 1,
        worker_id: flow.workerId,
        reason: 'failed',
        error_name: 'TypeError',
        error_message: 'no luck',
        error_stack: 'at a.ts:1',
      },
    ])
  })

  test('is claimable again once its delay is over, as the next attempt', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 10 })
    await flow.start({})
    await failOnce(flow)
    expect(await flow.claim('a')).toEqual([])
    await flow.reveal('a')
    expect(await flow.claim('a')).toMatchObject([{ attempt: 2 }])
  })

  test('forgets the error when a later attempt completes, and leaves no row for that one', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 0 })
    const [runId] = await flow.start({})
    await failOnce(flow)
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 'fine')])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'completed', attempts_count: 2, error_message: null }])
    expect(await sql`select attempt from pgflow.task_attempts where run_id = ${runId!}`).toEqual([{ attempt: 1 }])
    expect((await flow.run(runId!)).status).toBe('completed')
  })
})

describe('the last attempt', () => {
  test.each([
    [0, 1],
    [1, 1],
    [3, 3],
  ])('of max_attempts %d is number %d, and its failure is final', async (maxAttempts, last) => {
    const flow = await compile({ a: { maxAttempts } }, { baseDelay: 0 })
    const [runId] = await flow.start({})
    for (let attempt = 1; attempt <= last; attempt++) await failOnce(flow, { errorMessage: `attempt ${attempt}` })
    expect(await flow.tasks(runId!)).toMatchObject([
      { status: 'failed', attempts_count: last, error_message: `attempt ${last}` },
    ])
    expect((await flow.run(runId!)).status).toBe('failed')
    expect(await flow.depth('a')).toBe(0)
    expect(await flow.archived('a')).toBe(1)
  })

  test('is not repeated because the handler chose a delay', async () => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await failOnce(flow, { retryDelaySeconds: 5 })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'failed' }])
  })

  test('is any attempt whose error is permanent', async () => {
    const flow = await compile({ a: { maxAttempts: 9 } })
    const [runId] = await flow.start({})
    await failOnce(flow, { permanent: true })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'failed', attempts_count: 1 }])
    expect((await flow.run(runId!)).status).toBe('failed')
  })
})

describe('a failed run', () => {
  test('cancels 1 000 queued siblings and empties their queue in the same transaction', async () => {
    const flow = await compile({ each: { map: true } }, { maxAttempts: 1 })
    const [runId] = await flow.start(Array.from({ length: 1000 }, (_, n) => n))
    const [task] = await flow.claim('each', 1)
    await sql.begin(async (tx) => {
      await tx`select pgflow.fail_task(${runId!}, 'each', ${task!.taskIndex}, 'boom', ${flow.workerId}, 1)`
      const [left] = await tx`select queue_length from pgmq.metrics(${flow.queue('each')})`
      expect(left).toEqual({ queue_length: '0' })
    })
    const statuses = await sql`
      select status, count(*)::integer from pgflow.step_tasks where run_id = ${runId!} group by 1 order by 1`
    expect(statuses).toEqual([
      { status: 'cancelled', count: 999 },
      { status: 'failed', count: 1 },
    ])
    expect(await flow.archived('each')).toBe(1000)
  })

  test('cancels tasks that are running elsewhere, whose late reports are refused', async () => {
    const flow = await compile({ a: { maxAttempts: 1 }, b: {} })
    const [runId] = await flow.start({})
    const [running] = await flow.claim('b')
    await failOnce(flow)
    expect(await flow.core.settleTasks(flow.workerId, [completed(running!, 1)])).toMatchObject([
      { accepted: false, reason: 'already settled: task is cancelled' },
    ])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'failed' }, { status: 'cancelled' }])
    expect(await sql`select step_slug, reason from pgflow.task_attempts where run_id = ${runId!} order by 1`).toEqual([
      { step_slug: 'a', reason: 'failed' },
      { step_slug: 'b', reason: 'cancelled' },
    ])
  })

  test('starts none of the steps that were waiting', async () => {
    const flow = await compile({ a: { maxAttempts: 1 }, below: { after: ['a'] } })
    const [runId] = await flow.start({})
    await failOnce(flow)
    expect(await flow.steps(runId!)).toEqual({ a: 'failed', below: 'created' })
  })

  test('starts nothing of a step that completed in the same call', async () => {
    const flow = await compile({ a: {}, below: { after: ['a'] }, bad: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    const [[good], [bad]] = [await flow.claim('a'), await flow.claim('bad')]
    await flow.core.settleTasks(flow.workerId, [completed(good!, 1), failed(bad!)])
    expect((await flow.run(runId!)).status).toBe('failed')
    expect(await flow.depth('below')).toBe(0)
  })
})

test('a map with when_exhausted skip ends its other elements as skipped, empties its queue and lets the run complete', async () => {
  const flow = await compile(
    { each: { map: true, whenExhausted: 'skip' }, after: { after: ['each'] } },
    { maxAttempts: 1 },
  )
  const [runId] = await flow.start([1, 2, 3])
  const [first] = await flow.claim('each', 2)
  await flow.core.settleTasks(flow.workerId, [failed(first!)])
  expect((await flow.tasks(runId!)).filter((task) => task.step_slug === 'each').map((task) => task.status)).toEqual([
    'failed',
    'skipped',
    'skipped',
  ])
  expect(await flow.depth('each')).toBe(0)
  await flow.drain(() => 'done')
  expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { after: 'done' } })
})

test('complete_task and fail_task without a fence act on the started task, as released callers do', async () => {
  const flow = await compile({ a: {} }, { baseDelay: 0 })
  const [runId] = await flow.start({})
  await flow.claim('a')
  const [requeued] = await sql`select * from pgflow.fail_task(${runId!}, 'a', 0, 'boom')`
  expect(requeued).toMatchObject({ status: 'queued', error_message: 'boom' })
  await flow.claim('a')
  const [done] = await sql`select * from pgflow.complete_task(${runId!}, 'a', 0, '{"ok": 1}')`
  expect(done).toMatchObject({ status: 'completed', output: { ok: 1 } })
})

test('fail_task on a task that is queued has no effect, on its visibility neither', async () => {
  const flow = await compile({ a: {} })
  const [runId] = await flow.start({})
  const [row] = await sql`select * from pgflow.fail_task(${runId!}, 'a', 0, 'boom')`
  expect(row).toMatchObject({ status: 'queued', attempts_count: 0, error_message: null })
  expect(await flow.hidden('a')).toEqual([0])
})

describe('an attempt that the platform failed', () => {
  test('does not count ten times, comes again after 1 s to 30 s, and counts from then on', async () => {
    const flow = await compile({ a: {} }, { baseDelay: 0, maxAttempts: 2 })
    const run = await flow.start({})
    const delays: unknown[] = []
    for (let attempt = 1; attempt <= 10; attempt++) delays.push(await failOnce(flow, { forgiven: true }))
    expect(delays).toEqual([1, 2, 4, 8, 16, 30, 30, 30, 30, 30])
    expect(await failOnce(flow, { forgiven: true })).toBe(0)
    await failOnce(flow, { forgiven: true })
    expect(
      await sql`select status, attempts_count, attempts_forgiven from pgflow.step_tasks where run_id = ${run}`,
    ).toEqual([{ status: 'failed', attempts_count: 12, attempts_forgiven: 10 }])
  })

  test('was the only one of a step with one attempt', async () => {
    const flow = await compile({ a: {} }, { maxAttempts: 1 })
    const run = await flow.start({})
    await failOnce(flow, { forgiven: true })
    expect(await sql`select status from pgflow.step_tasks where run_id = ${run}`).toEqual([{ status: 'failed' }])
  })
})
