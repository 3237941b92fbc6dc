import type { Case } from './case.ts'

/** Cases that once came to something else on one side, or by which a wrong rule was caught. They run first, each time. */
export const EXAMPLES: Readonly<Record<string, Case>> = {
  'a retried run with a step that had not begun': {
    steps: {
      a: { maxAttempts: 1, does: [{ fails: [{ throws: 'boom' }], gives: { value: 1 } }] },
      b: { startDelay: 1000 },
    },
    input: {},
    retries: 1,
  },
}
