import type { Json } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>, mode: 'flow' | 'step' = 'step') =>
  CompiledFlow.compileShape(sql, `maps${++count}`, shape(steps), mode)

describe('a root map', () => {
  test('makes one task for each element of the run input, in order', async () => {
    const flow = await compile({ each: { map: true } })
    const [runId] = await flow.start(['a', { b: 1 }, [2]])
    const inputs: Json[] = []
    await flow.drain((task) => {
      inputs[task.taskIndex] = task.input
      expect(task.flowInput).toBeNull()
      return task.taskIndex
    })
    expect(inputs).toEqual(['a', { b: 1 }, [2]])
    expect((await flow.run(runId!)).output).toEqual({ each: [0, 1, 2] })
  })

  test('refuses an input that is no array, with its type, and starts nothing', async () => {
    const flow = await compile({ each: { map: true } })
    expect(await refusal(flow.start([1], { not: 'an array' }))).toMatchObject({
      code: 'P0001',
      message: `Flow ${flow.slug} has root map steps but input is not an array (got object)`,
    })
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
  })

  test('refuses an input that is NULL', async () => {
    const flow = await compile({ each: { map: true } })
    expect(await refusal(sql`select pgflow.start_flow(${flow.slug}, null)`)).toMatchObject({
      code: 'P0001',
      message: `Flow ${flow.slug} has root map steps but input is NULL`,
    })
  })

  test('refuses the JSON null as an input that is no array', async () => {
    const flow = await compile({ each: { map: true } })
    expect((await refusal(flow.start(null))).message).toContain('not an array (got null)')
  })
})

describe('a map over nothing', () => {
  test('completes with an empty array in the call that starts it, and its dependents start', async () => {
    const flow = await compile({ each: { map: true }, sum: { after: ['each'] } })
    const [runId] = await flow.start([])
    expect(await flow.steps(runId!)).toEqual({ each: 'completed', sum: 'started' })
    const [task] = await flow.claim('sum')
    expect(task!.input).toEqual({ each: [] })
  })

  test('completes when its dependency was skipped', async () => {
    const flow = await compile({ list: { if: { x: 1 } }, each: { map: true, after: ['list'] } })
    const [runId] = await flow.start({})
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { each: [] } })
  })

  test('of a chain of 200 maps completes the whole chain in one call', async () => {
    const steps: Record<string, StepSketch> = { m0: { map: true } }
    for (let index = 1; index < 200; index++) steps[`m${index}`] = { map: true, after: [`m${index - 1}`] }
    const flow = await compile(steps, 'flow')
    const [runId] = await flow.start([])
    expect(await flow.run(runId!)).toEqual({ status: 'completed', output: { m199: [] }, remaining_steps: 0 })
  })

  test('with a condition that holds completes, and with one that does not is skipped', async () => {
    const flow = await compile({
      list: {},
      met: { map: true, after: ['list'], if: { list: [] } },
      unmet: { map: true, after: ['list'], if: { list: [1] } },
    })
    const [runId] = await flow.start({})
    await flow.drain(() => [])
    expect(await flow.steps(runId!)).toEqual({ list: 'completed', met: 'completed', unmet: 'skipped: condition_unmet' })
  })
})

test('a map with a condition that holds runs over the elements', async () => {
  const flow = await compile({ list: {}, each: { map: true, after: ['list'], if: { list: [1] } } })
  const [runId] = await flow.start({})
  await flow.drain((task) => (task.stepSlug === 'list' ? [1, 2] : task.input))
  expect((await flow.run(runId!)).output).toEqual({ each: [1, 2] })
})

test('null elements are tasks with the input null, and null outputs keep their place', async () => {
  const flow = await compile({ list: {}, each: { map: true, after: ['list'] } })
  const [runId] = await flow.start({})
  await flow.drain((task) => (task.stepSlug === 'list' ? [null, 1, null] : task.input))
  expect((await flow.run(runId!)).output).toEqual({ each: [null, 1, null] })
})

test('a map output is in the order of its elements, whatever the order they end in', async () => {
  const flow = await compile({ each: { map: true } })
  const [runId] = await flow.start([10, 11, 12, 13])
  const tasks = await flow.claim('each')
  for (const index of [2, 0, 3, 1]) {
    await flow.core.settleTasks(flow.workerId, [completed(tasks.find((task) => task.taskIndex === index)!, index)])
  }
  expect((await flow.run(runId!)).output).toEqual({ each: [0, 1, 2, 3] })
})

test('a map over a map runs over its outputs', async () => {
  const flow = await compile({ a: { map: true }, b: { map: true, after: ['a'] } })
  const [runId] = await flow.start([1, 2])
  await flow.drain((task) => (task.input as number) * 10)
  expect((await flow.run(runId!)).output).toEqual({ b: [100, 200] })
})

describe('an output that is no array, of a step that a map runs over,', () => {
  test.each([
    ['an object', { items: [] }, 'object'],
    ['a text', '[1]', 'string'],
    ['null', null, 'null'],
  ] as const)(
    'fails the run when it is %s, whatever when_exhausted says, and stays on the task',
    async (_, output, type) => {
      const flow = await compile({
        list: { whenExhausted: 'skip', maxAttempts: 5 },
        each: { map: true, after: ['list'] },
      })
      const [runId] = await flow.start({})
      await flow.drain(() => output)
      const message = `[TYPE_VIOLATION] Step "list" feeds a map and must return an array, but returned ${type}`
      expect((await flow.run(runId!)).status).toBe('failed')
      expect(await sql`select status, output, error_message from pgflow.step_tasks where run_id = ${runId!}`).toEqual([
        { status: 'failed', output, error_message: message },
      ])
      expect(
        await sql`select error_message from pgflow.step_states where run_id = ${runId!} and status = 'failed'`,
      ).toEqual([{ error_message: message }])
      expect(await sql`select reason from pgflow.task_attempts where run_id = ${runId!}`).toEqual([
        { reason: 'type_violation' },
      ])
      expect(await flow.depth('list')).toBe(0)
    },
  )

  test('makes complete_task return the failed row instead of raising', async () => {
    const flow = await compile({ list: {}, each: { map: true, after: ['list'] } })
    const [runId] = await flow.start({})
    await flow.claim('list')
    const rows = await sql`select status, output from pgflow.complete_task(${runId!}, 'list', 0, '"no"'::jsonb)`
    expect(rows).toEqual([{ status: 'failed', output: 'no' }])
  })
})

test('a fan of 1 000 children starts in one call and joins again', async () => {
  const steps: Record<string, StepSketch> = { root: {} }
  const children = Array.from({ length: 1000 }, (_, index) => `c${index}`)
  for (const child of children) steps[child] = { after: ['root'] }
  steps.join = { after: children }
  const flow = await compile(steps, 'flow')
  const [runId] = await flow.start({})
  let joined: Json = null
  // A plain flow: one queue serves every step, so claiming for one step claims for all.
  for (let tasks = await flow.claim('root', 500); tasks.length > 0; tasks = await flow.claim('root', 500)) {
    joined = tasks.find((task) => task.stepSlug === 'join')?.input ?? joined
    await flow.core.settleTasks(
      flow.workerId,
      tasks.map((task) => completed(task, 1)),
    )
  }
  expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { join: 1 } })
  expect(Object.keys(joined as object)).toHaveLength(1000)
})

test('a map of 5 000 elements reads at most six times the pages that one of 1 000 does', async () => {
  // One connection, whose statistics are those of the database.
  const alone = database.connect()
  const flow = await CompiledFlow.compileShape(alone, 'mapsInProportion', shape({ each: { map: true } }))
  const pagesRead = async () => {
    await alone`select pg_stat_force_next_flush()`
    const [row] = await alone<{ pages: number }[]>`
      select (blks_hit + blks_read)::float as pages from pg_stat_database where datname = current_database()`
    return row!.pages
  }
  const pagesOf = async (elements: number) => {
    const before = await pagesRead()
    const [runId] = await flow.start(Array.from({ length: elements }, (_, index) => index))
    for (let tasks = await flow.claim('each', 500); tasks.length > 0; tasks = await flow.claim('each', 500)) {
      await flow.core.settleTasks(
        flow.workerId,
        tasks.map((task) => completed(task, task.input)),
      )
    }
    expect((await flow.run(runId!)).status).toBe('completed')
    return (await pagesRead()) - before
  }
  await pagesOf(1000)
  const small = await pagesOf(1000)
  const large = await pagesOf(5000)
  expect(large).toBeLessThan(small * 6)
})

test('a root map of 10 000 elements starts in one statement of seconds', async () => {
  const flow = await compile({ each: { map: true } })
  await sql.begin(async (tx) => {
    await tx`set local statement_timeout = '30s'`
    await tx`select pgflow.start_flow(${flow.slug}, (select jsonb_agg(n) from generate_series(1, 10000) n))`
  })
  expect(await flow.depth('each')).toBe(10_000)
})
