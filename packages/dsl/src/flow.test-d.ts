import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  type CompatibleFlow,
  type ExtractFlowContext,
  type ExtractFlowEnv,
  type ExtractFlowInput,
  type ExtractFlowLeafSteps,
  type ExtractFlowOutput,
  type ExtractFlowSteps,
  Flow,
  type Json,
  type RunnerContext,
  type StepContext,
  type StepInput,
  type StepOutput,
  type StepSlug,
  type TransactionContext,
} from './index.ts'

interface Thread {
  id: string
  text: string
  author?: { name: string; tags: string[] }
}

const threads = new Flow<Thread>({ slug: 'threads' })

describe('handler inputs', () => {
  it('a root step gets the flow input', () => {
    threads.step({ slug: 'a' }, (input) => expectTypeOf(input).toEqualTypeOf<Thread>())
    threads.array({ slug: 'a' }, (input) => [expectTypeOf(input).toEqualTypeOf<Thread>()])
  })

  it('without a declared input the flow input is Json', () => {
    new Flow({ slug: 'any' }).step({ slug: 'a' }, (input) => expectTypeOf(input).toEqualTypeOf<Json>())
  })

  it('an empty dependsOn makes a root step', () => {
    threads.step({ slug: 'a', dependsOn: [] }, (input) => expectTypeOf(input).toEqualTypeOf<Thread>())
  })

  it('a dependent step gets exactly the outputs of its dependencies', () => {
    threads
      .step({ slug: 'a' }, async () => ({ n: 1 }))
      .step({ slug: 'b' }, () => 'text')
      .step({ slug: 'c' }, () => true)
      .step({ slug: 'd', dependsOn: ['a', 'b'] }, (deps) => {
        expectTypeOf(deps).toEqualTypeOf<{ a: { n: number }; b: string }>()
        // @ts-expect-error c is a step, but not a dependency of this one
        deps.c
      })
  })

  it('a map over a step gets one element', () => {
    threads
      .array({ slug: 'links' }, () => [{ target: '#a', kind: 'anchor' as const }])
      .map({ slug: 'check', array: 'links' }, (link) => {
        expectTypeOf(link).toEqualTypeOf<{ target: string; kind: 'anchor' }>()
        return link.target.length
      })
      .step({ slug: 'sum', dependsOn: ['check'] }, (deps) => expectTypeOf(deps).toEqualTypeOf<{ check: number[] }>())
  })

  it('a map over a map gets one result of it', () => {
    new Flow<string[]>({ slug: 'list' })
      .map({ slug: 'a' }, (text) => text.length)
      .map({ slug: 'b', array: 'a' }, (length) => expectTypeOf(length).toEqualTypeOf<number>())
  })

  it('a map without array gets one element of the flow input', () => {
    new Flow<readonly Thread[]>({ slug: 'list' }).map({ slug: 'a' }, (thread) =>
      expectTypeOf(thread).toEqualTypeOf<Thread>(),
    )
  })

  it('a handler that returns nothing gives null to its dependents', () => {
    threads
      .step({ slug: 'quiet' }, async () => {})
      .step({ slug: 'b', dependsOn: ['quiet'] }, (deps) => expectTypeOf(deps).toEqualTypeOf<{ quiet: null }>())
  })

  it('a dependent gets what JSON made of an output', () => {
    threads
      .step({ slug: 'a' }, () => ({ at: new Date(), maybe: undefined as string | undefined }))
      .step({ slug: 'b', dependsOn: ['a'] }, (deps) =>
        expectTypeOf(deps).toEqualTypeOf<{ a: { at: string; maybe: string | undefined } }>(),
      )
  })

  it('a handler written elsewhere is checked against its input', () => {
    const count = (deps: { a: string[] }) => deps.a.length
    threads.array({ slug: 'a' }, () => ['x']).step({ slug: 'b', dependsOn: ['a'] }, count)
    // @ts-expect-error a gives numbers, the handler wants strings
    threads.array({ slug: 'a' }, () => [1]).step({ slug: 'b', dependsOn: ['a'] }, count)
  })
})

describe('skippable dependencies', () => {
  const base = threads.step({ slug: 'sure' }, () => 1)

  it('a step with a condition is optional to its dependents', () => {
    base
      .step({ slug: 'a', if: { text: 'x' } }, () => 'a')
      .step({ slug: 'b', ifNot: { text: 'x' } }, () => 'b')
      .step({ slug: 'c', dependsOn: ['sure', 'a', 'b'] }, (deps) =>
        expectTypeOf(deps).toEqualTypeOf<{ sure: number; a?: string; b?: string }>(),
      )
  })

  it('whenUnmet fail keeps it required', () => {
    base
      .step({ slug: 'a', if: { text: 'x' }, whenUnmet: 'fail' }, () => 'a')
      .step({ slug: 'b', dependsOn: ['a'] }, (deps) => expectTypeOf(deps).toEqualTypeOf<{ a: string }>())
  })

  it('whenExhausted skip makes it optional', () => {
    base
      .step({ slug: 'a', whenExhausted: 'skip' }, () => 'a')
      .step({ slug: 'b', dependsOn: ['a'] }, (deps) => expectTypeOf(deps).toEqualTypeOf<{ a?: string }>())
  })

  it('skip-cascade keeps it required, since its dependents are skipped with it', () => {
    base
      .step({ slug: 'a', if: { text: 'x' }, whenUnmet: 'skip-cascade', whenExhausted: 'skip-cascade' }, () => 'a')
      .step({ slug: 'b', dependsOn: ['a'] }, (deps) => {
        expectTypeOf(deps).toEqualTypeOf<{ a: string }>()
        return 2
      })
      .step({ slug: 'c', dependsOn: ['b'] }, (deps) => expectTypeOf(deps).toEqualTypeOf<{ b: number }>())
  })

  it('one plain skip among two ways to be skipped makes it optional', () => {
    base
      .step({ slug: 'a', if: { text: 'x' }, whenUnmet: 'skip-cascade', whenExhausted: 'skip' }, () => 'a')
      .step({ slug: 'b', dependsOn: ['a'] }, (deps) => expectTypeOf(deps).toEqualTypeOf<{ a?: string }>())
  })

  it('the element of a map over a skippable step is not optional: it then runs no task', () => {
    base
      .array({ slug: 'a', if: { text: 'x' } }, () => ['x'])
      .map({ slug: 'b', array: 'a' }, (element) => void expectTypeOf(element).toEqualTypeOf<string>())
      .step({ slug: 'c', dependsOn: ['b'] }, (deps) => void expectTypeOf(deps).toHaveProperty('b'))
  })

  it('a leaf is optional in the output when it can be skipped, by itself or by a cascade', () => {
    const flow = base
      .step({ slug: 'plain', dependsOn: ['sure'] }, () => 1)
      .step({ slug: 'conditional', if: { text: 'x' } }, () => 2)
      .step({ slug: 'gate', if: { text: 'x' }, whenUnmet: 'skip-cascade' }, () => 3)
      .step({ slug: 'behindGate', dependsOn: ['gate'] }, () => 4)
      .step({ slug: 'soft', if: { text: 'x' } }, () => 5)
      .step({ slug: 'behindSoft', dependsOn: ['soft'] }, () => 6)
    expectTypeOf<ExtractFlowOutput<typeof flow>>().toEqualTypeOf<{
      plain: number
      behindSoft: number
      conditional?: number
      behindGate?: number
    }>()
  })
})

describe('conditions', () => {
  const flow = threads
    .step({ slug: 'classify' }, () => ({ route: 'help' as 'help' | 'spam', tags: [{ name: 'a' }] }))
    .array({ slug: 'links' }, () => ['x'])
    .step({ slug: 'opaque' }, (): Json => 1)

  it('a pattern is a part of the input, at any depth', () => {
    threads.step({ slug: 'a', if: { author: { tags: ['vip'] } }, ifNot: { text: '' } }, () => 1)
    flow.step({ slug: 'a', dependsOn: ['classify'], if: { classify: { route: 'help' } } }, () => 1)
    flow.step({ slug: 'a', dependsOn: ['classify'], if: { classify: { tags: [{ name: 'a' }] } } }, () => 1)
    flow.step({ slug: 'a', dependsOn: ['opaque'], if: { opaque: { anything: [1, { x: null }] } } }, () => 1)
  })

  it('a pattern of a map is matched against all of its input, not an element', () => {
    flow.map({ slug: 'a', array: 'links', if: { links: ['x'] } }, () => 1)
    // @ts-expect-error the pattern is over { links }, not over one link
    flow.map({ slug: 'a', array: 'links', if: 'x' }, () => 1)
  })

  it('a pattern refuses unknown keys and impossible values', () => {
    // @ts-expect-error `rout` is no property of what classify returns
    flow.step({ slug: 'a', dependsOn: ['classify'], if: { classify: { rout: 'help' } } }, () => 1)
    // @ts-expect-error 'ham' is no route
    flow.step({ slug: 'a', dependsOn: ['classify'], ifNot: { classify: { route: 'ham' } } }, () => 1)
    // @ts-expect-error links is a step, but not a dependency of this one
    flow.step({ slug: 'a', dependsOn: ['classify'], if: { links: ['x'] } }, () => 1)
    // @ts-expect-error `txt` is no property of the flow input
    threads.step({ slug: 'a', if: { txt: 'x' } }, () => 1)
  })

  it('a flow input that is not an object has no pattern', () => {
    // @ts-expect-error a map over the flow input has nothing to match
    new Flow<{ n: number }[]>({ slug: 'list' }).map({ slug: 'a', if: [{ n: 1 }] }, () => 1)
    // @ts-expect-error neither has a root step of the same flow
    new Flow<{ n: number }[]>({ slug: 'list' }).step({ slug: 'a', if: { n: 1 } }, () => 1)
    // @ts-expect-error nor one whose input is a string
    new Flow<string>({ slug: 'text' }).step({ slug: 'a', if: 'x' }, () => 1)
  })

  it('whenUnmet needs a condition', () => {
    threads.step({ slug: 'a', if: { text: 'x' }, whenUnmet: 'fail' }, () => 1)
    // @ts-expect-error there is no condition that could be unmet
    threads.step({ slug: 'a', whenUnmet: 'fail' }, () => 1)
  })
})

describe('the context', () => {
  it('has what every worker gives', () => {
    threads.step({ slug: 'a' }, async (_, ctx) => {
      expectTypeOf(ctx).toEqualTypeOf<StepContext<Thread>>()
      expectTypeOf(await ctx.flowInput).toEqualTypeOf<Thread>()
      expectTypeOf(ctx.env.ANYTHING).toEqualTypeOf<string | undefined>()
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
      expectTypeOf(ctx.shutdownSignal).toEqualTypeOf<AbortSignal>()
      expectTypeOf(ctx.stepTask.msg_id).toEqualTypeOf<string>()
      expectTypeOf(ctx.rawMessage.msg_id).toEqualTypeOf<string>()
      expectTypeOf(ctx.workerConfig.maxConcurrent).toEqualTypeOf<number>()
      // @ts-expect-error the settings of a running worker are frozen
      ctx.workerConfig.maxConcurrent = 2
      ctx.logger.info('done', { n: 1 })
      expectTypeOf(await ctx.sql<{ n: number }[]>`select 1 as n`).toMatchTypeOf<{ n: number }[]>()
    })
  })

  it('a declared context and environment reach every handler and are carried by the flow', () => {
    const flow = new Flow<
      Thread,
      { stripe: { charge(): number } },
      Record<never, never>,
      Record<never, never>,
      { TOKEN: string }
    >({
      slug: 'pay',
    }).step({ slug: 'a' }, (_, ctx) => {
      expectTypeOf(ctx.env).toEqualTypeOf<{ TOKEN: string }>()
      return ctx.stripe.charge()
    })
    expectTypeOf<ExtractFlowContext<typeof flow>>().toEqualTypeOf<{ stripe: { charge(): number } }>()
    expectTypeOf<ExtractFlowEnv<typeof flow>>().toEqualTypeOf<{ TOKEN: string }>()
  })

  it('what a handler asks for is carried by the flow', () => {
    const flow = threads
      .step({ slug: 'a' }, (_: Thread, ctx: { stripe: { charge(): number } }) => ctx.stripe.charge())
      .step({ slug: 'b' }, (_, ctx: StepContext<Thread> & { mail: (to: string) => void }) => ctx.mail('x'))
    expectTypeOf<ExtractFlowContext<typeof flow>>().toMatchTypeOf<{
      stripe: { charge(): number }
      mail: (to: string) => void
    }>()
    expectTypeOf<keyof ExtractFlowContext<typeof flow>>().toEqualTypeOf<'stripe' | 'mail'>()
  })

  it('a handler that asks for nothing more adds nothing', () => {
    const flow = threads
      .step({ slug: 'a' }, (_, ctx) => ctx.stepTask.task_index)
      .step({ slug: 'b' }, (_: Thread, ctx: StepContext<Thread>) => ctx.stepTask.attempt)
    expectTypeOf<keyof ExtractFlowContext<typeof flow>>().toEqualTypeOf<never>()
  })

  it('a flow may say more about what the platform gives', () => {
    interface MySql {
      query(text: string): Promise<number>
    }
    new Flow<Thread, { sql: MySql }>({ slug: 'own' }).step({ slug: 'a' }, (_, ctx) => {
      expectTypeOf(ctx.sql).toEqualTypeOf<MySql>()
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
      return null
    })
  })

  it('the names of durable state are kept free', () => {
    // @ts-expect-error ctx.session belongs to the author API of durable state
    new Flow<Thread, { session: string }>({ slug: 'a' })
  })

  it('session steps have typed outputs, and ask for a session', () => {
    const flow = threads
      .sessionRead({ slug: 'last', key: 'visitedAt' })
      .sessionWrite({ slug: 'keep', dependsOn: ['last'], key: 'visitedAt' }, ({ last }, ctx) => {
        expectTypeOf(last).toEqualTypeOf<Json>()
        expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
        return { at: 1 }
      })
    expectTypeOf<ExtractFlowSteps<typeof flow>>().toEqualTypeOf<{ last: Json; keep: { at: number } }>()
    expectTypeOf<typeof flow>().not.toExtend<CompatibleFlow<typeof flow>>()
    expectTypeOf<typeof flow>().toExtend<CompatibleFlow<typeof flow, RunnerContext>>()
    // @ts-expect-error this flow already has a step "last"
    flow.sessionRead({ slug: 'last', key: 'visitedAt' })
    // @ts-expect-error there is no step "gone"
    flow.sessionRead({ slug: 'next', dependsOn: ['gone'], key: 'visitedAt' })
  })

  it('a flow may ask for durable state, and no worker takes it then', () => {
    const flow = new Flow<Thread, RunnerContext>({ slug: 'a' })
      .step({ slug: 'first' }, async (_, ctx) => ctx.variables.set('n', 1))
      .step({ slug: 'second' }, (_, ctx) => ctx.phase('second'))
    expectTypeOf<typeof flow>().toExtend<CompatibleFlow<typeof flow, RunnerContext>>()
    expectTypeOf<typeof flow>().not.toExtend<CompatibleFlow<typeof flow>>()

    const asking = threads.step({ slug: 'a' }, (_: Thread, ctx: RunnerContext) => ctx.session.get('n'))
    expectTypeOf<keyof ExtractFlowContext<typeof asking>>().toEqualTypeOf<keyof RunnerContext>()
    expectTypeOf<typeof asking>().not.toExtend<CompatibleFlow<typeof asking>>()
  })
})

describe('slugs', () => {
  const flow = threads
    .step({ slug: 'parse' }, () => ({ links: 1 }))
    .array({ slug: 'links', dependsOn: ['parse'] }, () => ['x'])
    .map({ slug: 'check', array: 'links' }, (link) => link.length)
    .step({ slug: 'constructor', dependsOn: ['check', 'parse'] }, () => 'done' as const)

  it('the union of step slugs is exact', () => {
    expectTypeOf<StepSlug<typeof flow>>().toEqualTypeOf<'parse' | 'links' | 'check' | 'constructor'>()
    expectTypeOf<keyof ExtractFlowSteps<typeof flow>>().toEqualTypeOf<'parse' | 'links' | 'check' | 'constructor'>()
  })

  it('types of a flow can be taken out of it', () => {
    expectTypeOf<ExtractFlowInput<typeof flow>>().toEqualTypeOf<Thread>()
    expectTypeOf<ExtractFlowSteps<typeof flow>>().toEqualTypeOf<{
      parse: { links: number }
      links: string[]
      check: number[]
      constructor: 'done'
    }>()
    expectTypeOf<ExtractFlowLeafSteps<typeof flow>>().toEqualTypeOf<{ constructor: 'done' }>()
    expectTypeOf<ExtractFlowOutput<typeof flow>>().toEqualTypeOf<{ constructor: 'done' }>()
    expectTypeOf<StepInput<typeof flow, 'parse'>>().toEqualTypeOf<Thread>()
    expectTypeOf<StepInput<typeof flow, 'links'>>().toEqualTypeOf<{ parse: { links: number } }>()
    expectTypeOf<StepInput<typeof flow, 'check'>>().toEqualTypeOf<string>()
    expectTypeOf<StepInput<typeof flow, 'constructor'>>().toEqualTypeOf<{ check: number[]; parse: { links: number } }>()
    expectTypeOf<StepOutput<typeof flow, 'check'>>().toEqualTypeOf<number[]>()
    // @ts-expect-error there is no such step
    expectTypeOf<StepOutput<typeof flow, 'nope'>>()
  })

  it('a dependency must be a step before', () => {
    // @ts-expect-error later is not a step of this flow
    flow.step({ slug: 'a', dependsOn: ['parse', 'later'] }, () => 1)
    // @ts-expect-error a step cannot depend on itself
    flow.step({ slug: 'a', dependsOn: ['a'] }, () => 1)
  })

  it('a slug is used once', () => {
    // @ts-expect-error This flow already has a step "parse"
    flow.step({ slug: 'parse' }, () => 1)
  })
})

describe('maps and arrays', () => {
  it('only an array can be mapped over', () => {
    const flow = threads.step({ slug: 'text' }, () => 'x')
    // @ts-expect-error Step "text" does not return an array
    flow.map({ slug: 'a', array: 'text' }, () => 1)
    // @ts-expect-error A map without `array` goes over the flow input, which is not an array
    flow.map({ slug: 'a' }, () => 1)
    // @ts-expect-error there is no such step
    flow.map({ slug: 'a', array: 'nope' }, () => 1)
  })

  it('an array step returns an array', () => {
    // @ts-expect-error a string is no array
    threads.array({ slug: 'a' }, () => 'x')
  })
})

describe('options', () => {
  it('there is no option that nobody reads', () => {
    // @ts-expect-error queues are derived, not chosen
    threads.step({ slug: 'a', queue: 'mine' }, () => 1)
    // @ts-expect-error it is maxAttempts
    threads.step({ slug: 'a', maxAttemps: 3 }, () => 1)
    // @ts-expect-error a delay before the start belongs to a step
    new Flow({ slug: 'a', startDelay: 3 })
  })

  it('an input schema gives the flow its input type', () => {
    const flow = new Flow({ slug: 'a', input: z.object({ url: z.string(), depth: z.number().optional() }) })
    expectTypeOf<ExtractFlowInput<typeof flow>>().toEqualTypeOf<{ url: string; depth?: number | undefined }>()
  })

  it('a schema only checks: one that converts is refused', () => {
    // @ts-expect-error handlers would get the text, not the number
    new Flow<number>({ slug: 'a', input: z.string().transform(Number) })
  })
})

describe('a transactional step', () => {
  it('has ctx.tx in place of ctx.sql, and only it has', () => {
    threads
      .step({ slug: 'a', transactional: true }, async (_input, ctx) => {
        await ctx.tx`select 1`
        expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
        // @ts-expect-error what is written beside the transaction would not be part of it
        ctx.sql
        return [1]
      })
      .map({ slug: 'b', array: 'a', transactional: true }, async (_element, ctx) => {
        await ctx.tx`select 1`
      })
    threads.step({ slug: 'a' }, (_input, ctx) => {
      // @ts-expect-error this step has no transaction
      ctx.tx
      void ctx.sql
    })
    threads.step({ slug: 'a', transactional: false }, (_input, ctx) => {
      // @ts-expect-error this step has no transaction
      ctx.tx
    })
  })

  it('asks nothing of the context of its flow', () => {
    const flow = threads.step({ slug: 'a', transactional: true }, (_input, ctx: TransactionContext) => Number(!!ctx.tx))
    expectTypeOf<keyof ExtractFlowContext<typeof flow>>().toEqualTypeOf<never>()
    expectTypeOf<StepOutput<typeof flow, 'a'>>().toEqualTypeOf<number>()
  })
})
