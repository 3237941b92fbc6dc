import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { expectAllWell } from './support/oracle.ts'
import { type StepSketch, shape } from './support/shape.ts'

const { sql } = await testDatabase()

let count = 0
const compile = (steps: Record<string, StepSketch>) =>
  CompiledFlow.compileShape(sql, `again${++count}`, shape(steps, { baseDelay: 0, maxAttempts: 1 }))
const retry = async (runId: string) => await sql`select * from pgflow.retry_run(${runId})`

/** A flow of one run that failed: `failing` names the steps whose handlers fail. */
async function failedRun(steps: Record<string, StepSketch>, failing: string[], input = {}) {
  const flow = await compile(steps)
  const [runId] = await flow.start(input)
  await flow.drain((task) => (failing.includes(task.stepSlug) ? new Error('not yet') : task.stepSlug))
  expect(await flow.run(runId!)).toMatchObject({ status: 'failed' })
  return { flow, runId: runId! }
}

describe('a retried run', () => {
  test('whose handler failed starts that step again, keeps what had completed, and ends completed', async () => {
    const { flow, runId } = await failedRun({ a: {}, b: { after: ['a'] }, c: { after: ['b'] } }, ['b'])
    expect(await retry(runId)).toMatchObject([{ status: 'started', remaining_steps: 2, failed_at: null }])
    expect(await flow.steps(runId)).toEqual({ a: 'completed', b: 'started', c: 'created' })
    const handled: string[] = []
    await flow.drain((task) => {
      handled.push(task.stepSlug)
      return task.input
    })
    expect(handled).toEqual(['b', 'c'])
    expect(await flow.run(runId)).toMatchObject({
      status: 'completed',
      remaining_steps: 0,
      output: { c: { b: { a: 'a' } } },
    })
    await expectAllWell(sql)
  })

  test('keeps the elements of a map that had completed', async () => {
    const flow = await compile({ each: { map: true } })
    const [runId] = await flow.start(['a', 'b', 'c'])
    const tasks = await flow.claim('each')
    await flow.core.settleTasks(flow.workerId, [completed(tasks[0]!, 'first'), failed(tasks[1]!)])
    expect((await flow.run(runId!)).status).toBe('failed')
    await retry(runId!)
    const again = await flow.claim('each')
    expect(again.map((task) => [task.taskIndex, task.input])).toEqual([
      [1, 'b'],
      [2, 'c'],
    ])
    await flow.core.settleTasks(
      flow.workerId,
      again.map((task) => completed(task, 'second')),
    )
    expect(await flow.run(runId!)).toMatchObject({
      status: 'completed',
      output: { each: ['first', 'second', 'second'] },
    })
    await expectAllWell(sql)
  })

  test('whose output had the wrong type runs that step again', async () => {
    const { flow, runId } = await failedRun({ list: {}, each: { map: true, after: ['list'] } }, [])
    await retry(runId)
    expect(
      await sql`select status, output, error_message, completed_at, failed_at from pgflow.step_tasks where run_id = ${runId}`,
    ).toEqual([{ status: 'queued', output: null, error_message: null, completed_at: null, failed_at: null }])
    await flow.drain((task) => (task.stepSlug === 'list' ? [1, 2] : task.input))
    expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { each: [1, 2] } })
    await expectAllWell(sql)
  })

  test('that a condition failed judges it again', async () => {
    const { flow, runId } = await failedRun({ a: {}, b: { after: ['a'], if: { a: 'yes' }, whenUnmet: 'fail' } }, [])
    expect(await retry(runId)).toMatchObject([{ status: 'failed', remaining_steps: 1 }])
    for (const table of ['step_states', 'step_tasks']) {
      await sql`update ${sql(`pgflow.${table}`)} set output = '"yes"' where run_id = ${runId} and step_slug = 'a'`
    }
    expect(await retry(runId)).toMatchObject([{ status: 'started' }])
    await flow.drain(() => 'done')
    expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { b: 'done' } })
  })

  test('that failed at its root condition fails again for the same input', async () => {
    const flow = await compile({ a: { if: { x: 1 }, whenUnmet: 'fail' }, b: {} })
    const [runId] = await flow.start({})
    expect(await retry(runId!)).toMatchObject([{ status: 'failed', remaining_steps: 2 }])
    expect(await flow.steps(runId!)).toEqual({ a: 'failed', b: 'started' })
    expect([await flow.depth('a'), await flow.depth('b')]).toEqual([0, 0])
    await expectAllWell(sql)
  })

  test('of which several steps failed in one call starts all of them again', async () => {
    const flow = await CompiledFlow.compileShape(
      sql,
      `again${++count}`,
      shape({ a: {}, b: {}, c: { after: ['a', 'b'] } }, { maxAttempts: 1 }),
      'flow',
    )
    const [runId] = await flow.start({})
    const tasks = await flow.claim('a')
    await flow.core.settleTasks(
      flow.workerId,
      tasks.map((task) => failed(task)),
    )
    expect(await flow.steps(runId!)).toEqual({ a: 'failed', b: 'failed', c: 'created' })
    expect(await retry(runId!)).toMatchObject([{ remaining_steps: 3 }])
    await flow.drain(() => 1)
    expect((await flow.run(runId!)).status).toBe('completed')
    await expectAllWell(sql)
  })

  test('dispatches a step, or each element of a map, that had started in the very call that failed the run', async () => {
    const steps = { a: {}, b: {}, c: { after: ['a'] }, each: { map: true, after: ['a'] } }
    const flow = await CompiledFlow.compileShape(sql, `again${++count}`, shape(steps, { maxAttempts: 1 }), 'flow')
    const [runId] = await flow.start({})
    const tasks = await flow.claim('a')
    await flow.core.settleTasks(
      flow.workerId,
      tasks.map((task) => (task.stepSlug === 'a' ? completed(task, [1, 2]) : failed(task))),
    )
    expect(await flow.steps(runId!)).toEqual({ a: 'completed', b: 'failed', c: 'started', each: 'started' })
    expect(
      await sql`select from pgflow.step_tasks where run_id = ${runId!} and step_slug in ('c', 'each')`,
    ).toHaveLength(0)
    expect(await retry(runId!)).toMatchObject([{ remaining_steps: 3 }])
    await flow.drain((task) => task.input)
    expect(await flow.run(runId!)).toMatchObject({
      status: 'completed',
      output: { b: {}, c: { a: [1, 2] }, each: [1, 2] },
    })
    await expectAllWell(sql)
  })

  test('lets a step that had not begun wait for its start delay again', async () => {
    const flow = await compile({ a: {}, b: { startDelay: 100 } })
    const [runId] = await flow.start({})
    await flow.drain(() => new Error('not yet'))
    expect(await flow.run(runId!)).toMatchObject({ status: 'failed' })
    await flow.age(runId!, 90)
    await retry(runId!)
    expect(await flow.hidden('a')).toEqual([0])
    const [hidden] = await flow.hidden('b')
    expect(hidden).toBeGreaterThan(90)
    await expectAllWell(sql)
  })

  test('that was cancelled goes on with the steps that were open', async () => {
    const flow = await compile({ a: {}, b: {}, c: { after: ['a', 'b'] } })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 'kept')])
    await flow.claim('b')
    await sql`select pgflow.cancel_run(${runId!}, 'a mistake')`
    expect(await retry(runId!)).toMatchObject([
      { status: 'started', cancelled_at: null, cancel_reason: null, remaining_steps: 2 },
    ])
    await flow.drain((each) => each.input)
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { c: { a: 'kept', b: {} } } })
    await expectAllWell(sql)
  })

  test('leaves skipped steps skipped', async () => {
    const { flow, runId } = await failedRun(
      { a: { if: { x: 1 } }, b: { whenExhausted: 'skip' }, c: { after: ['a', 'b'] } },
      ['b', 'c'],
    )
    expect(await retry(runId)).toMatchObject([{ remaining_steps: 1 }])
    await flow.drain((task) => task.input)
    expect(await flow.steps(runId)).toEqual({
      a: 'skipped: condition_unmet',
      b: 'skipped: handler_failed',
      c: 'completed',
    })
    expect((await flow.run(runId)).output).toEqual({ c: {} })
  })

  test('that stalled for good starts that step again', async () => {
    const flow = await compile({ a: { timeout: 1 } })
    const [runId] = await flow.start({})
    await flow.claim('a')
    await flow.age(runId!, 100)
    await flow.core.requeueStalledTasks()
    expect((await flow.run(runId!)).status).toBe('failed')
    await retry(runId!)
    expect(
      await sql`select permanently_stalled_at, requeued_count from pgflow.step_tasks where run_id = ${runId!}`,
    ).toEqual([{ permanently_stalled_at: null, requeued_count: 0 }])
    await flow.drain(() => 1)
    expect((await flow.run(runId!)).status).toBe('completed')
    await expectAllWell(sql)
  })

  test('that fails again may be retried again', async () => {
    const { flow, runId } = await failedRun({ a: {} }, ['a'])
    for (let times = 0; times < 3; times++) {
      await retry(runId)
      await flow.drain(() => new Error('still not'))
      expect((await flow.run(runId)).status).toBe('failed')
    }
    await retry(runId)
    await flow.drain(() => 'at last')
    expect((await flow.run(runId)).output).toEqual({ a: 'at last' })
    expect(await flow.tasks(runId)).toMatchObject([{ attempts_count: 5 }])
    await expectAllWell(sql)
  })
})

describe('retry_run', () => {
  test('twice in a row is once: the run is open already', async () => {
    const { flow, runId } = await failedRun({ a: {} }, ['a'])
    const first = await retry(runId)
    expect(await retry(runId)).toEqual(first)
    expect(await flow.depth('a')).toBe(1)
  })

  test('by eight callers at once sends each message once', async () => {
    const { flow, runId } = await failedRun({ a: {}, b: {} }, ['a', 'b'])
    await Promise.all(Array.from({ length: 8 }, () => retry(runId)))
    expect([await flow.depth('a'), await flow.depth('b')]).toEqual([1, 1])
    await expectAllWell(sql)
  })

  test('gives a completed run back, unchanged', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await flow.drain(() => 1)
    const [before] = await sql`select * from pgflow.runs where run_id = ${runId!}`
    expect(await retry(runId!)).toEqual([before])
    expect(await flow.tasks(runId!)).toMatchObject([{ status: 'completed', attempts_count: 1 }])
  })

  test('of a run that does not exist gives nothing', async () => {
    expect(await retry(randomUUID())).toEqual([])
  })
})

describe('the attempts of a retried run', () => {
  test('have a fresh budget, and the count never goes down', async () => {
    const flow = await compile({ a: { maxAttempts: 2 } })
    const [runId] = await flow.start({})
    await flow.drain(() => new Error('no'))
    await retry(runId!)
    const attempts: number[] = []
    await flow.drain((task) => {
      attempts.push(task.attempt)
      return new Error('no')
    })
    expect(attempts).toEqual([3, 4])
    expect(
      await sql`select status, attempts_count, attempts_forgiven from pgflow.step_tasks where run_id = ${runId!}`,
    ).toEqual([{ status: 'failed', attempts_count: 4, attempts_forgiven: 2 }])
  })

  test('wait as long as first attempts do', async () => {
    const flow = await compile({ a: { maxAttempts: 3, baseDelay: 10 } })
    const [runId] = await flow.start({})
    for (let attempt = 0; attempt < 3; attempt++) {
      await flow.reveal('a')
      const [task] = await flow.claim('a')
      await flow.core.settleTasks(flow.workerId, [failed(task!)])
    }
    await retry(runId!)
    expect(await flow.hidden('a')).toEqual([0])
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [failed(task!)])
    expect(await flow.hidden('a')).toEqual([20])
  })

  test('are not those of an old worker, whose reports are refused', async () => {
    const flow = await compile({ a: {}, b: {} })
    const [runId] = await flow.start({})
    const [old] = await flow.claim('a')
    const [breaking] = await flow.claim('b')
    await flow.core.settleTasks(flow.workerId, [failed(breaking!)])
    await retry(runId!)
    const late = [completed(old!, 'late'), failed(old!)]
    expect(await flow.core.settleTasks(flow.workerId, late)).toMatchObject([
      { accepted: false, reason: 'already settled: task is queued' },
      { accepted: false, reason: 'already settled: task is queued' },
    ])
    const [fresh] = await flow.claim('a')
    expect(await flow.core.settleTasks(flow.workerId, late)).toMatchObject([
      { accepted: false, reason: 'stale attempt: the task is at attempt 2' },
      { accepted: false, reason: 'stale attempt: the task is at attempt 2' },
    ])
    await flow.core.settleTasks(flow.workerId, [completed(fresh!, 'in time')])
    await flow.drain(() => 1)
    expect((await flow.run(runId!)).output).toEqual({ a: 'in time', b: 1 })
    await expectAllWell(sql)
  })
})
