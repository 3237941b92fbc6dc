import { Flow, withStepQueues } from '@starflow/dsl'
import { handled } from './support/handled.ts'

export type Poison = 'rejection' | 'timer' | 'loop'
export type PoisonInput = { readonly poison: Poison | null }

/** Handlers that would take down, or do hold up, the isolate which they share with innocent ones. Those lose no run by it. */
const flow = new Flow<PoisonInput>({ slug: 'soakPoison', maxAttempts: 3, baseDelay: 0, maxDelay: 3, timeout: 3 }).step(
  { slug: 'work' },
  async ({ poison }, ctx) => {
    const outcome = await handled(ctx)
    if (poison === 'rejection') void Promise.reject(new Error('rejected, and awaited by nothing'))
    if (poison === 'timer') {
      setTimeout(() => {
        throw new Error('thrown by a timer')
      }, 0)
    }
    if (poison === 'loop') for (;;) {}
    await new Promise((resolve) => setTimeout(resolve, 100))
    return outcome
  },
)

export const soakPoison = withStepQueues(flow)
