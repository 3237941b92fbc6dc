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
  'a retried run with a step whose retry was due later': {
    steps: {
      a: { baseDelay: 2000, does: [{ fails: [{ throws: 'boom' }], gives: { value: 1 } }] },
      b: { startDelay: 1000, maxAttempts: 1, does: [{ fails: [{ throws: 'boom' }], gives: { value: 1 } }] },
    },
    input: {},
    retries: 1,
  },
  'a cascade that goes down two levels, past a parent that completed': {
    steps: {
      a: { if: { yes: true }, whenUnmet: 'skip-cascade' },
      b: {},
      c: { after: ['a', 'b'] },
      d: { after: ['b', 'c'] },
    },
    input: {},
  },
  'maps over a skipped step, and over what comes of that': {
    steps: {
      a: { maxAttempts: 1, whenExhausted: 'skip', does: [{ fails: [{ throws: 'boom' }], gives: { value: [] } }] },
      b: { kind: 'map', after: ['a'] },
      c: { kind: 'map', after: ['b'], ifNot: { b: [1] } },
    },
    input: {},
  },
  'an output of the wrong type in a step that may be skipped': {
    steps: {
      a: { whenExhausted: 'skip-cascade', does: [{ gives: { value: { ok: true } } }] },
      b: { kind: 'map', after: ['a'] },
    },
    input: {},
    retries: 1,
  },
  'a wait that times out, and is resumed once the run was retried': {
    steps: {
      a: { kind: 'wait', answers: ['timeout', { payload: [1, null] }] },
      b: { kind: 'map', after: ['a'], does: [{ gives: 'input' }] },
    },
    input: {},
    retries: 1,
  },
  'an input that is refused, where a root step may be skipped and a wait asks for nothing': {
    steps: {
      a: { whenExhausted: 'skip' },
      b: { kind: 'map', whenExhausted: 'skip-cascade' },
      c: { kind: 'wait' },
      d: { after: ['a', 'c'], does: [{ gives: 'input' }] },
      e: { kind: 'map', after: ['b'] },
    },
    input: [1, 2],
    refusesInput: true,
  },
}
