import { expect, test } from 'vitest'
import type { FlowStep } from './flow-queries.ts'
import { attemptsText } from './step-words.ts'

function step(step: Partial<FlowStep>, options: Partial<FlowStep['options']> = {}): FlowStep {
  return {
    ...{ step: 's', type: 'single', dependsOn: [], queue: null, condition: null, whenExhausted: 'fail' },
    options: {
      ...{ maxAttempts: null, baseDelaySeconds: null, maxDelaySeconds: null, timeoutSeconds: null },
      ...{ startDelaySeconds: null, ...options },
    },
    ...step,
  }
}

test('how a step is tried is told in sentences', () => {
  const options = { maxAttempts: 3, baseDelaySeconds: 1, maxDelaySeconds: 60, timeoutSeconds: 90, startDelaySeconds: 5 }
  expect(attemptsText(step({ whenExhausted: 'skip-cascade' }, options))).toEqual([
    'It begins 5.0 s after it could.',
    'An attempt may take 1 m 30 s.',
    'It is tried 3 times.',
    'Between attempts 1.0 s, doubling up to 1 m 00 s.',
    'When its last attempt fails it is skipped, with all that depends on it.',
  ])
})

test('one attempt has nothing between', () => {
  expect(attemptsText(step({}, { maxAttempts: 1, baseDelaySeconds: 1 }))).toEqual([
    'It is tried once.',
    'When its last attempt fails, the run fails.',
  ])
})

test('a wait is not tried, but may time out', () => {
  expect(attemptsText(step({ type: 'wait' }))).toEqual(['It waits until somebody decides.'])
  expect(attemptsText(step({ type: 'wait', whenExhausted: 'skip' }, { timeoutSeconds: 259_200 }))).toEqual([
    'It waits 3 d 0 h at most.',
    'When it times out it is skipped, and what follows goes on without it.',
  ])
})
