import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  defineWorkers,
  type ExtractFlowOutput,
  type ExtractFlowSteps,
  Flow,
  type HandledStepSlug,
  type Json,
  type StepInput,
  type StepOutput,
  type StepSlug,
  unchecked,
  withStepQueues,
} from './index.ts'

interface Article {
  title: string
}
interface Verdict {
  approved: boolean
  by: string
}

const drafts = new Flow<Article>({ slug: 'drafts' }).step({ slug: 'draft' }, ({ title }) => ({ text: title }))

describe('wait', () => {
  it('has the payload as its output', () => {
    const flow = drafts
      .wait({ slug: 'approve', dependsOn: ['draft'], payload: unchecked<Verdict>() })
      .step({ slug: 'publish', dependsOn: ['approve'] }, (deps) => {
        expectTypeOf(deps).toEqualTypeOf<{ approve: Verdict }>()
        return deps.approve.by
      })
    expectTypeOf<StepOutput<typeof flow, 'approve'>>().toEqualTypeOf<Verdict>()
    expectTypeOf<ExtractFlowOutput<typeof flow>>().toEqualTypeOf<{ publish: string }>()
  })

  it('takes its payload type from a schema, and is Json without one', () => {
    const flow = drafts
      .wait({ slug: 'rate', payload: z.object({ stars: z.number() }) })
      .wait({ slug: 'anything' })
      .wait({ slug: 'dated', payload: unchecked<{ at: Date }>() })
    expectTypeOf<ExtractFlowSteps<typeof flow>>().toEqualTypeOf<{
      draft: { text: string }
      rate: { stars: number }
      anything: Json
      dated: { at: string }
    }>()
  })

  it('may be mapped over when its payload is an array, and only then', () => {
    const flow = drafts.wait({ slug: 'pick', payload: unchecked<{ id: string }[]>() }).wait({ slug: 'approve' })
    flow.map({ slug: 'each', array: 'pick' }, (element) => {
      expectTypeOf(element).toEqualTypeOf<{ id: string }>()
      return element.id
    })
    // @ts-expect-error the payload need not be an array
    flow.map({ slug: 'each', array: 'approve' }, () => 1)
  })

  it('has no handler, so no input of one', () => {
    const flow = drafts.wait({ slug: 'approve', payload: unchecked<Verdict>() })
    expectTypeOf<StepInput<typeof flow, 'approve'>>().toBeNever()
    // @ts-expect-error nothing is run
    drafts.wait({ slug: 'approve' }, () => 1)
  })

  it('is optional to its dependents when it may be skipped, by a condition or at its timeout', () => {
    drafts
      .wait({ slug: 'approve', timeout: 60, whenExhausted: 'skip', payload: unchecked<Verdict>() })
      .wait({ slug: 'rate', dependsOn: ['draft'], if: { draft: { text: 'x' } } })
      .step({ slug: 'publish', dependsOn: ['approve', 'rate'] }, (deps) => {
        expectTypeOf(deps).toEqualTypeOf<{ approve?: Verdict; rate?: Json }>()
        return null
      })
  })

  it('a timeout that fails the run, or skips what depends on it, keeps it required', () => {
    drafts
      .wait({ slug: 'approve', timeout: 60, payload: unchecked<Verdict>() })
      .wait({ slug: 'rate', timeout: 60, whenExhausted: 'skip-cascade' })
      .step({ slug: 'publish', dependsOn: ['approve', 'rate'] }, (deps) => {
        expectTypeOf(deps).toEqualTypeOf<{ approve: Verdict; rate: Json }>()
        return null
      })
  })

  it('takes no retries, no delays and no transaction', () => {
    // @ts-expect-error nothing is run, so nothing is run again
    drafts.wait({ slug: 'approve', maxAttempts: 3 })
    // @ts-expect-error nor is anything delayed
    drafts.wait({ slug: 'approve', startDelay: 3 })
    // @ts-expect-error nor committed
    drafts.wait({ slug: 'approve', transactional: true })
  })

  it('needs an earlier step to depend on, and a new slug', () => {
    // @ts-expect-error there is none of that name
    drafts.wait({ slug: 'approve', dependsOn: ['drft'] })
    // @ts-expect-error this slug is taken
    drafts.wait({ slug: 'draft' })
  })

  it('has no workers: their step slugs leave it out', () => {
    const flow = drafts.wait({ slug: 'approve' })
    expectTypeOf<StepSlug<typeof flow>>().toEqualTypeOf<'draft' | 'approve'>()
    expectTypeOf<HandledStepSlug<typeof flow>>().toEqualTypeOf<'draft'>()
    const queued = withStepQueues(flow)
    expectTypeOf(queued.routes[0]!.stepSlug).toEqualTypeOf<'draft'>()
    defineWorkers(queued, { draft: { instances: 2 } })
    // @ts-expect-error nobody works it
    const named = () => defineWorkers(queued, { approve: { instances: 2 } })
    expectTypeOf(named).toBeFunction()
  })
})
