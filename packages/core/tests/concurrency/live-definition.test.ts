import { afterAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from '../support/compiled-flow.ts'
import { Actor } from '../support/interleaving.ts'
import { expectAllWell } from '../support/oracle.ts'
import { type StepSketch, shape } from '../support/shape.ts'
import { issueToken, resume, setWaitKey } from '../support/wait-tokens.ts'

// A plain flow may get steps while its runs are open. A run has the steps that its flow had when it started, and no others.
const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>) =>
  CompiledFlow.compileShape(sql, `grow${++count}`, shape(steps, { baseDelay: 0 }), 'flow')

afterAll(async () => await expectAllWell(sql))

/** Starts a run that has read the definition, and waits for a lock when a step is added to it. */
async function startBeside(flow: CompiledFlow, input: object, addStep: string): Promise<string> {
  const altering = await new Actor(database).hold((_, held) => held`lock table pgflow.runs in share mode`)
  const starting = await new Actor(database).waits((core) => core.startFlows(flow.slug, [input as never]))
  await sql.unsafe(addStep)
  await altering.commit()
  return (await starting.end)[0]!
}

describe('a start beside a step that is being added', () => {
  test('counts the steps that it makes, and the run ends when they have', async () => {
    const flow = await compile({ first: {} })
    const runId = await startBeside(flow, {}, `select pgflow.add_step('${flow.slug}', 'second')`)
    expect(await flow.steps(runId)).toEqual({ first: 'started' })
    expect((await flow.run(runId)).remaining_steps).toBe(1)
    await flow.drain(() => 1)
    expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { first: 1 } })
    const [later] = await flow.start({})
    expect((await flow.run(later!)).remaining_steps).toBe(2)
    await flow.drain(() => 1)
  })

  test('needs no array as input when that step is a map over it', async () => {
    const flow = await compile({ first: {} })
    const runId = await startBeside(
      flow,
      { no: 'array' },
      `select pgflow.add_step('${flow.slug}', 'each', step_type => 'map')`,
    )
    await flow.drain(() => 1)
    expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { first: 1 } })
  })
})

describe('a run that started before a step was added', () => {
  test('may return anything where the new step is a map over its output, and later runs may not', async () => {
    const flow = await compile({ src: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('src')
    await sql`select pgflow.add_step(${flow.slug}, 'each', array['src'], step_type => 'map')`
    await flow.core.settleTasks(flow.workerId, [completed(task!, { a: 1 })])
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { src: { a: 1 } } })
    const [later] = await flow.start({})
    await flow.drain(() => ({ a: 1 }))
    expect((await flow.run(later!)).status).toBe('failed')
  })

  test('may be resumed with anything where the new step is a map over its wait', async () => {
    await setWaitKey(sql)
    const flow = await compile({ asked: { wait: true } })
    const [runId] = await flow.start({})
    await sql`select pgflow.add_step(${flow.slug}, 'each', array['asked'], step_type => 'map')`
    expect(await resume(sql, await issueToken(sql, runId!, 'asked'), 'yes')).toBe('accepted')
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { asked: 'yes' } })
  })

  test('has the output of its own last step, which has a dependent in the flow by now', async () => {
    const flow = await compile({ last: {} })
    const [runId] = await flow.start({})
    await sql`select pgflow.add_step(${flow.slug}, 'after', array['last'])`
    await flow.drain(() => 'end')
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { last: 'end' } })
  })
})
