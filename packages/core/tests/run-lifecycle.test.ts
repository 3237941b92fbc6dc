import { Flow, withStepQueues } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow } from './support/compiled-flow.ts'

const { sql } = await testDatabase()

const order = (slug: string) =>
  new Flow<{ items: number[]; vip?: boolean }>({ slug, baseDelay: 0 })
    .step({ slug: 'load' }, (input) => input.items)
    .map({ slug: 'price', array: 'load' }, (item) => item * 10)
    .step({ slug: 'sum', dependsOn: ['price'] }, ({ price }) => price.reduce((a, b) => a + b, 0))
    .step({ slug: 'gift', dependsOn: ['load'], if: { load: [7] } }, () => 'gift')
    .step({ slug: 'ship', dependsOn: ['sum', 'gift'] }, (deps) => ({ sum: deps.sum, gift: deps.gift ?? null }))

describe.each(['flow', 'step'] as const)('in queue mode %s', (mode) => {
  const compile = (flow: ReturnType<typeof order>) =>
    mode === 'step' ? CompiledFlow.compile(sql, withStepQueues(flow)) : CompiledFlow.compile(sql, flow)

  test('a flow of every step kind runs to its end', async () => {
    const flow = await compile(order(`every${mode}`))
    const [withGift, without, empty] = await flow.start({ items: [7, 1] }, { items: [1, 2] }, { items: [] })
    const inputs: Record<string, unknown> = {}
    await flow.drain((task) => {
      inputs[`${task.runId}/${task.stepSlug}/${task.taskIndex}`] = task.input
      switch (task.stepSlug) {
        case 'load':
          return (task.flowInput as { items: number[] }).items
        case 'price':
          return (task.input as number) * 10
        case 'sum':
          return (task.input as { price: number[] }).price.reduce((a, b) => a + b, 0)
        default:
          return task.input
      }
    })
    expect(await flow.run(withGift!)).toEqual({
      status: 'completed',
      remaining_steps: 0,
      output: { ship: { sum: 80, gift: { load: [7, 1] } } },
    })
    expect(await flow.run(without!)).toMatchObject({ status: 'completed', output: { ship: { sum: 30 } } })
    expect(await flow.run(empty!)).toMatchObject({ status: 'completed', output: { ship: { sum: 0 } } })
    expect(await flow.steps(without!)).toMatchObject({ gift: 'skipped: condition_unmet', ship: 'completed' })
    expect(inputs[`${withGift}/load/0`]).toEqual({})
    expect(inputs[`${withGift}/price/1`]).toBe(1)
    for (const step of ['load', 'price', 'sum', 'gift', 'ship']) expect(await flow.depth(step)).toBe(0)
  })
})
