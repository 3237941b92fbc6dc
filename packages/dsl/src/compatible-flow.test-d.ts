import { describe, it } from 'vitest'
import { type AnyFlow, type CompatibleFlow, Flow, type NonRetryableError, type StepContext } from './index.ts'

declare function start<TFlow extends AnyFlow>(flow: TFlow & CompatibleFlow<TFlow>): void
declare function startWithStripe<TFlow extends AnyFlow>(
  flow: TFlow & CompatibleFlow<TFlow, { stripe: { charge(amount: number): void } }>,
): void
declare function startWithToken<TFlow extends AnyFlow>(
  flow: TFlow & CompatibleFlow<TFlow, unknown, { TOKEN: string; PORT: string | undefined }>,
): void

type None = Record<never, never>

describe('CompatibleFlow', () => {
  it('accepts a flow that asks for what every worker has', () => {
    const flow = new Flow<{ a: string }>({ slug: 'a' })
      .step({ slug: 'a' }, (_, ctx) => ctx.stepTask.task_index)
      .step({ slug: 'b' }, async (_: { a: string }, ctx: StepContext<{ a: string }>) => (await ctx.flowInput).a)
      .step({ slug: 'c' }, (_: { a: string }, ctx: { signal: AbortSignal }) => ctx.signal.aborted)
    ;() => start(flow)
  })

  it('refuses a flow whose context the platform does not give', () => {
    const declared = new Flow<{ a: string }, { stripe: { charge(amount: number): void } }>({ slug: 'a' })
    const inferred = new Flow<{ a: string }>({ slug: 'a' }).step(
      { slug: 'a' },
      (_: { a: string }, ctx: { mail(): void }) => ctx.mail(),
    )
    // @ts-expect-error needs a context that the worker does not give: stripe
    ;() => start(declared)
    // @ts-expect-error needs a context that the worker does not give: mail
    ;() => start(inferred)
    // @ts-expect-error stripe is there, mail is not
    ;() => startWithStripe(inferred)
    ;() => startWithStripe(declared)
  })

  it('refuses a context of another type', () => {
    const flow = new Flow<{ a: string }, { stepTask: NonRetryableError }>({ slug: 'a' })
    // @ts-expect-error stepTask is a task
    ;() => start(flow)
  })

  it('believes a declared environment, and checks it where the platform says what it has', () => {
    const token = new Flow<string, None, None, None, { TOKEN: string }>({ slug: 'a' })
    const secret = new Flow<string, None, None, None, { SECRET: string }>({ slug: 'a' })
    const asked = new Flow<string>({ slug: 'a' }).step(
      { slug: 'a' },
      (_: string, ctx: { env: { PORT: string } }) => ctx.env.PORT,
    )
    ;() => start(token)
    ;() => start(asked)
    ;() => startWithToken(token)
    // @ts-expect-error the worker has no SECRET
    ;() => startWithToken(secret)
    // @ts-expect-error PORT may be unset
    ;() => startWithToken(asked)
  })
})
