import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { expectAllWell } from './support/oracle.ts'
import { type StepSketch, shape } from './support/shape.ts'
import { setWaitKey } from './support/wait-tokens.ts'

const database = await testDatabase()
const { sql } = database
await setWaitKey(sql)

let count = 0
const compile = (steps: Record<string, StepSketch>) => CompiledFlow.compileShape(sql, `cancel${++count}`, shape(steps))
const cancel = async (runId: string, reason: string | null = null) =>
  await sql`select * from pgflow.cancel_run(${runId}, ${reason})`

describe('cancel_run', () => {
  test('gives the cancelled run with time and reason', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    expect(await cancel(runId!, 'ordered twice')).toMatchObject([
      {
        run_id: runId,
        status: 'cancelled',
        cancel_reason: 'ordered twice',
        cancelled_at: expect.any(Date),
        completed_at: null,
        failed_at: null,
        output: null,
      },
    ])
  })

  test('ends queued, started and waiting tasks with their messages, and leaves what has completed', async () => {
    const flow = await compile({ done: {}, held: {}, idle: {}, waits: { wait: true, timeout: 60 } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('done')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
    await flow.claim('held')
    await cancel(runId!)
    expect(await flow.tasks(runId!)).toMatchObject([
      { step_slug: 'done', status: 'completed' },
      { step_slug: 'held', status: 'cancelled' },
      { step_slug: 'idle', status: 'cancelled' },
      { step_slug: 'waits', status: 'cancelled' },
    ])
    for (const step of ['done', 'held', 'idle']) expect(await flow.depth(step), step).toBe(0)
    expect([await flow.archived('held'), await flow.archived('idle')]).toEqual([1, 1])
    await expectAllWell(sql)
  })

  test('keeps the attempt that it cut off in the history', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await cancel(runId!)
    expect(await sql`select attempt, worker_id, reason from pgflow.task_attempts where run_id = ${runId!}`).toEqual([
      { attempt: 1, worker_id: flow.workerId, reason: 'cancelled' },
    ])
  })

  test('leaves no late report a chance, fenced or not', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await cancel(runId!)
    expect(await flow.core.settleTasks(flow.workerId, [completed(task!, 1), failed(task!)])).toMatchObject([
      { accepted: false, reason: 'already settled: task is cancelled' },
      { accepted: false, reason: 'already settled: task is cancelled' },
    ])
    await sql`select pgflow.complete_task(${runId!}, 'a', 0, '1'), pgflow.fail_task(${runId!}, 'a', 0, 'x')`
    expect(await flow.run(runId!)).toMatchObject({ status: 'cancelled', output: null })
    expect(await flow.steps(runId!)).toEqual({ a: 'started', b: 'created' })
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'cancelled', error_message: null }])
  })

  test('leaves nothing for recovery or a claim', async () => {
    const flow = await compile({ a: { timeout: 1 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await cancel(runId!)
    await flow.age(runId!, 1000)
    expect(await flow.core.requeueStalledTasks()).toBe(0)
    expect(await flow.claim('a')).toEqual([])
  })

  test('again changes nothing and gives the run as it is', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const first = await cancel(runId!, 'first')
    expect(await cancel(runId!, 'second')).toEqual(first)
  })

  test.each(['completed', 'failed'] as const)('leaves a run that has %s as it ended', async (status) => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.drain(() => (status === 'completed' ? 1 : new Error('no')))
    expect(await cancel(runId!)).toMatchObject([{ status, cancelled_at: null }])
  })

  test('of a run that does not exist gives nothing', async () => {
    expect(await cancel(randomUUID())).toEqual([])
  })

  test('keeps at most 2000 characters of the reason', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [run] = await cancel(runId!, 'r'.repeat(5000))
    expect(run!.cancel_reason).toBe('r'.repeat(2000))
  })

  test('ends a map of 1000 elements whole', async () => {
    const flow = await compile({ each: { map: true } })
    const [runId] = await flow.start(Array.from({ length: 1000 }, (_, n) => n))
    await flow.claim('each', 400)
    await cancel(runId!)
    expect(await flow.depth('each')).toBe(0)
    expect(await sql`select distinct status from pgflow.step_tasks where run_id = ${runId!}`).toEqual([
      { status: 'cancelled' },
    ])
  })
})

test('a cancellation that meets a completion waits for it, and the run ends once', async () => {
  const flow = await compile({ a: {} })
  const [runId] = await flow.start({})
  await flow.claim('a')
  const settling = database.connect()
  const cancelling = database.connect({ settings: { application_name: 'cancelling' } })
  let answer: PromiseLike<readonly unknown[]> | undefined
  await settling.begin(async (tx) => {
    await tx`select pgflow.complete_task(${runId!}, 'a', 0, '1')`
    answer = cancelling`select status from pgflow.cancel_run(${runId!})`.execute()
    await untilBlocked(sql, 'cancelling')
  })
  expect(await answer).toEqual([{ status: 'completed' }])
  await Promise.all([settling.end(), cancelling.end()])
})

test('a completion that meets a cancellation waits for it, and is refused', async () => {
  const flow = await compile({ a: {}, b: { after: ['a'] } })
  const [runId] = await flow.start({})
  const [task] = await flow.claim('a')
  const cancelling = database.connect()
  const settling = database.connect({ settings: { application_name: 'settling late' } })
  let answer: PromiseLike<readonly unknown[]> | undefined
  await cancelling.begin(async (tx) => {
    await tx`select pgflow.cancel_run(${runId!})`
    answer =
      settling`select accepted, reason from pgflow.settle_tasks(${flow.workerId}, ${JSON.stringify([{ run_id: runId, step_slug: 'a', task_index: 0, attempt: task!.attempt, status: 'completed', output: '1' }])}::text::jsonb)`.execute()
    await untilBlocked(sql, 'settling late')
  })
  expect(await answer).toEqual([{ accepted: false, reason: 'already settled: task is cancelled' }])
  expect(await flow.steps(runId!)).toEqual({ a: 'started', b: 'created' })
  await Promise.all([settling.end(), cancelling.end()])
})

test('a cancellation that meets a claim waits for it and ends what it claimed', async () => {
  const flow = await compile({ a: {} })
  const [runId] = await flow.start({})
  const claiming = database.connect()
  const cancelling = database.connect({ settings: { application_name: 'cancelling a claim' } })
  let answer: PromiseLike<readonly unknown[]> | undefined
  await claiming.begin(async (tx) => {
    const rows = await tx`select * from pgflow.claim_tasks(${flow.queue('a')}, ${flow.slug}, ${flow.workerId}, 1, 'a')`
    expect(rows).toHaveLength(1)
    answer = cancelling`select status from pgflow.cancel_run(${runId!})`.execute()
    await untilBlocked(sql, 'cancelling a claim')
  })
  expect(await answer).toEqual([{ status: 'cancelled' }])
  expect(await flow.tasks(runId!)).toMatchObject([{ status: 'cancelled', attempts_count: 1 }])
  expect(await flow.depth('a')).toBe(0)
  await Promise.all([claiming.end(), cancelling.end()])
})
