import type { Json } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import type { ClaimedTask } from '../src/index.ts'
import { CompiledFlow, failed } from './support/compiled-flow.ts'
import { type StepSketch, shape } from './support/shape.ts'

const { sql } = await testDatabase()

let count = 0

/** Runs a flow of these steps to its end; a step's output is its slug unless `outputs` says otherwise. */
async function run(steps: Record<string, StepSketch>, input: Json, outputs: Record<string, Json | Error> = {}) {
  const flow = await CompiledFlow.compileShape(sql, `conditions${++count}`, shape(steps, { maxAttempts: 1 }))
  const [runId] = await flow.start(input)
  const tasks: ClaimedTask[] = []
  await flow.drain((task) => {
    tasks.push(task)
    return outputs[task.stepSlug] ?? task.stepSlug
  })
  for (const step of Object.keys(steps)) expect(await flow.depth(step), `queue of ${step}`).toBe(0)
  return { flow, runId: runId!, run: await flow.run(runId!), steps: await flow.steps(runId!), tasks }
}

describe('a condition on a root step', () => {
  test('lets the step run when the run input holds its if pattern', async () => {
    const { run: end, steps } = await run({ a: { if: { vip: true } } }, { vip: true, more: 1 })
    expect([end.status, steps]).toEqual(['completed', { a: 'completed' }])
  })

  test('skips the step when the run input does not hold its if pattern', async () => {
    const { run: end, steps } = await run({ a: { if: { vip: true } }, b: {} }, { vip: false })
    expect([end, steps]).toEqual([
      { status: 'completed', output: { b: 'b' }, remaining_steps: 0 },
      { a: 'skipped: condition_unmet', b: 'completed' },
    ])
  })

  test('skips the step when the run input holds its ifNot pattern', async () => {
    const { steps } = await run({ a: { ifNot: { plan: 'free' } } }, { plan: 'free' })
    expect(steps).toEqual({ a: 'skipped: condition_unmet' })
  })

  test('needs both patterns to hold', async () => {
    const both = { a: { if: { vip: true }, ifNot: { blocked: true } } }
    expect((await run(both, { vip: true })).steps).toEqual({ a: 'completed' })
    expect((await run(both, { vip: true, blocked: true })).steps).toEqual({ a: 'skipped: condition_unmet' })
  })

  test('is unmet, not an error, for an input that is no object', async () => {
    expect((await run({ a: { if: { vip: true } } }, 'text')).steps).toEqual({ a: 'skipped: condition_unmet' })
  })

  test('lets a run in which every step is skipped complete in the call that starts it', async () => {
    const flow = await CompiledFlow.compileShape(sql, `conditions${++count}`, shape({ a: { if: { x: 1 } } }))
    const [runId] = await flow.start({})
    expect(await flow.run(runId!)).toEqual({ status: 'completed', output: {}, remaining_steps: 0 })
  })
})

describe('a condition on a dependent step', () => {
  test('is judged on the object of its dependencies outputs', async () => {
    const steps = { a: {}, b: { after: ['a'], if: { a: { route: 'help' } } } }
    expect((await run(steps, {}, { a: { route: 'help', extra: [1] } })).steps.b).toBe('completed')
    expect((await run(steps, {}, { a: { route: 'sales' } })).steps.b).toBe('skipped: condition_unmet')
  })

  test('finds a skipped dependency absent, not null', async () => {
    const steps = {
      a: { if: { never: true } },
      b: { after: ['a'], ifNot: { a: null } },
      c: { after: ['a'], if: { a: null } },
    }
    expect((await run(steps, {})).steps).toEqual({
      a: 'skipped: condition_unmet',
      b: 'completed',
      c: 'skipped: condition_unmet',
    })
  })
})

describe('when a condition is unmet, when_unmet', () => {
  const steps = (whenUnmet: 'fail' | 'skip' | 'skip-cascade') => ({
    gate: { if: { open: true }, whenUnmet },
    below: { after: ['gate'] },
    deep: { after: ['below'] },
    beside: {},
  })

  test('skip lets dependents run without the output', async () => {
    const { run: end, steps: states, tasks } = await run(steps('skip'), {})
    expect(states).toEqual({
      gate: 'skipped: condition_unmet',
      below: 'completed',
      deep: 'completed',
      beside: 'completed',
    })
    expect(tasks.find((task) => task.stepSlug === 'below')?.input).toEqual({})
    expect(end.output).toEqual({ deep: 'deep', beside: 'beside' })
  })

  test('skip-cascade skips everything below', async () => {
    const { run: end, steps: states } = await run(steps('skip-cascade'), {})
    expect(states).toEqual({
      gate: 'skipped: condition_unmet',
      below: 'skipped: dependency_skipped',
      deep: 'skipped: dependency_skipped',
      beside: 'completed',
    })
    expect(end).toMatchObject({ status: 'completed', output: { beside: 'beside' }, remaining_steps: 0 })
  })

  test('fail fails the run in the call that starts it, with no task left to claim', async () => {
    const { flow, runId, run: end, tasks } = await run(steps('fail'), {})
    expect([end.status, tasks]).toEqual(['failed', []])
    const [gate] =
      await sql`select status, error_message from pgflow.step_states where run_id = ${runId} and step_slug = 'gate'`
    expect(gate).toEqual({ status: 'failed', error_message: 'Condition not met' })
    expect(await flow.tasks(runId)).toEqual([])
  })

  test('fail on a dependent step cancels its siblings that are running', async () => {
    const flow = await CompiledFlow.compileShape(
      sql,
      `conditions${++count}`,
      shape({ a: {}, gate: { after: ['a'], if: { a: 1 }, whenUnmet: 'fail' }, beside: {} }),
    )
    const [runId] = await flow.start({})
    await flow.claim('beside')
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [{ ...task!, status: 'completed', output: '2' }])
    expect((await flow.run(runId!)).status).toBe('failed')
    expect(await flow.tasks(runId!)).toMatchObject([
      { step_slug: 'a', status: 'completed' },
      { step_slug: 'beside', status: 'cancelled' },
    ])
    expect(await flow.depth('beside')).toBe(0)
  })
})

describe('when a task ends as failed, when_exhausted', () => {
  const steps = (whenExhausted: 'fail' | 'skip' | 'skip-cascade') => ({
    a: { whenExhausted },
    below: { after: ['a'] },
    deep: { after: ['below'] },
    beside: {},
  })
  const boom = { a: new Error('boom') }

  test('fail fails the run', async () => {
    const { run: end, steps: states } = await run(steps('fail'), {}, boom)
    expect(end.status).toBe('failed')
    expect(states.a).toBe('failed')
  })

  test('skip lets dependents run without the output', async () => {
    const { run: end, steps: states } = await run(steps('skip'), {}, boom)
    expect(states).toEqual({ a: 'skipped: handler_failed', below: 'completed', deep: 'completed', beside: 'completed' })
    expect(end).toMatchObject({ status: 'completed', output: { deep: 'deep', beside: 'beside' } })
  })

  test('skip-cascade skips everything below', async () => {
    const { run: end, steps: states } = await run(steps('skip-cascade'), {}, boom)
    expect(states).toEqual({
      a: 'skipped: handler_failed',
      below: 'skipped: dependency_skipped',
      deep: 'skipped: dependency_skipped',
      beside: 'completed',
    })
    expect(end.status).toBe('completed')
  })

  test('skip keeps the error on the step and its task failed', async () => {
    const { flow, runId } = await run(steps('skip'), {}, boom)
    const [state] = await sql`select error_message from pgflow.step_states where run_id = ${runId} and step_slug = 'a'`
    expect(state).toEqual({ error_message: 'boom' })
    expect((await flow.tasks(runId))[0]).toMatchObject({ step_slug: 'a', status: 'failed', error_message: 'boom' })
  })
})

test('a step with three parents, two skipped and one completed, starts', async () => {
  const { run: end, tasks } = await run(
    { a: { if: { x: 1 } }, b: { if: { x: 1 } }, c: {}, child: { after: ['a', 'b', 'c'] } },
    {},
  )
  expect(end).toMatchObject({ status: 'completed', output: { child: 'child' } })
  expect(tasks.at(-1)?.input).toEqual({ c: 'c' })
})

test('a step with three parents, all skipped, starts', async () => {
  const { steps } = await run(
    { a: { if: { x: 1 } }, b: { if: { x: 1 } }, c: { if: { x: 1 } }, child: { after: ['a', 'b', 'c'] } },
    {},
  )
  expect(steps.child).toBe('completed')
})

test('a step below a skip-cascade is skipped although another parent of it completes', async () => {
  const { run: end, steps } = await run(
    {
      gate: { if: { x: 1 }, whenUnmet: 'skip-cascade' },
      other: {},
      child: { after: ['gate', 'other'] },
      last: { after: ['child', 'other'] },
    },
    {},
  )
  expect(steps).toEqual({
    gate: 'skipped: condition_unmet',
    other: 'completed',
    child: 'skipped: dependency_skipped',
    last: 'skipped: dependency_skipped',
  })
  expect(end).toMatchObject({ status: 'completed', remaining_steps: 0 })
})

test('a skip-cascade reaches a chain of 150 steps in one call', async () => {
  const steps: Record<string, StepSketch> = { s0: { if: { x: 1 }, whenUnmet: 'skip-cascade' } }
  for (let index = 1; index < 150; index++) steps[`s${index}`] = { after: [`s${index - 1}`] }
  const flow = await CompiledFlow.compileShape(sql, `conditions${++count}`, shape(steps), 'flow')
  const [runId] = await flow.start({})
  expect(await flow.run(runId!)).toEqual({ status: 'completed', output: {}, remaining_steps: 0 })
  expect(
    Object.values(await flow.steps(runId!)).filter((status) => status === 'skipped: dependency_skipped'),
  ).toHaveLength(149)
})

test('a chain of 100 unmet conditions is skipped step by step in one call', async () => {
  const steps: Record<string, StepSketch> = { s0: { if: { x: 1 } } }
  for (let index = 1; index < 100; index++) steps[`s${index}`] = { after: [`s${index - 1}`], if: { x: 1 } }
  const flow = await CompiledFlow.compileShape(sql, `conditions${++count}`, shape(steps), 'flow')
  const [runId] = await flow.start({})
  expect((await flow.run(runId!)).status).toBe('completed')
})

test('a late complete and a late fail of a skipped step are refused and change nothing', async () => {
  const flow = await CompiledFlow.compileShape(
    sql,
    `conditions${++count}`,
    shape({ each: { map: true, whenExhausted: 'skip' }, after: { after: ['each'] } }, { maxAttempts: 1 }),
  )
  const [runId] = await flow.start([1, 2, 3])
  const [first, second, third] = await flow.claim('each')
  await flow.core.settleTasks(flow.workerId, [failed(first!)])
  const before = await flow.steps(runId!)
  const settled = await flow.core.settleTasks(flow.workerId, [
    { ...second!, status: 'completed', output: '1' },
    failed(third!),
  ])
  expect(settled).toMatchObject([
    { accepted: false, reason: 'already settled: task is skipped' },
    { accepted: false, reason: 'already settled: task is skipped' },
  ])
  expect(await flow.steps(runId!)).toEqual(before)
  expect(await flow.run(runId!)).toMatchObject({ status: 'started', remaining_steps: 1 })
})
