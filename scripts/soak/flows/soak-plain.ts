import { Flow } from '@starflow/dsl'
import { handled } from './support/handled.ts'

/** A flow of one queue for all of its steps. */
export const soakPlain = new Flow<{ readonly n: number }>({
  slug: 'soakPlain',
  maxAttempts: 6,
  baseDelay: 1,
  maxDelay: 3,
  timeout: 3,
})
  .step({ slug: 'first' }, (_input, ctx) => handled(ctx))
  .step({ slug: 'second', dependsOn: ['first'] }, (_outputs, ctx) => handled(ctx))
