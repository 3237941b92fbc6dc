import { Flow, type RunnerContext } from '@starflow/dsl'
import { expectTypeOf, it } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import type { QueueingStateAdapter } from '../state-adapter.ts'
import { Runner } from './runner.ts'

declare const adapter: QueueingStateAdapter
declare const engine: Engine

const plain = new Flow<{ n: number }>({ slug: 'plain' }).step({ slug: 'double' }, ({ n }) => n * 2)
const durable = new Flow<object>({ slug: 'durable' }).step({ slug: 'note' }, (_: object, ctx: RunnerContext) =>
  ctx.phase('noted'),
)
const asking = new Flow<object>({ slug: 'asking' }).step(
  { slug: 'pay' },
  (_: object, ctx: { stripe: string }) => ctx.stripe,
)

it('a runner takes flows that ask for what it gives, durable state among it', () => {
  new Runner([plain, durable], { adapter })
})

it('a flow that asks for more is refused, with a sentence that names it', () => {
  // @ts-expect-error This flow needs a context that the worker does not give: stripe
  new Runner([plain, asking], { adapter })
  // @ts-expect-error This flow needs a context that the worker does not give: stripe
  engine.run(asking, {})
})

it('input and output of a run are those of its flow', async () => {
  const result = await engine.run(plain, { n: 1 })
  expectTypeOf(result.output).toEqualTypeOf<{ double: number } | null>()
  // @ts-expect-error n is a number
  engine.run(plain, { n: 'one' })
})
