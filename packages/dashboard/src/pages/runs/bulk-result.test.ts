import { expect, test } from 'vitest'
import { type BulkOutcome, bulkResult, refusedText, steerInTurns } from './bulk-result.ts'

const runIds = Array.from({ length: 250 }, (_, index) => `run-${index}`)
const cancelled = (some: readonly string[]) =>
  some.map((runId): BulkOutcome => ({ runId, outcome: 'cancelled', error: null }))

function steered(steer: (some: readonly string[]) => Promise<readonly BulkOutcome[]>, progress: number[] = []) {
  return steerInTurns(runIds, {
    ...{ size: 100, steer, onProgress: (done) => progress.push(done) },
    reasonOf: (error) => (error as Error).message,
  })
}

test('more runs than a request may name are steered with several, each run once, and each request is progress', async () => {
  const [asked, progress]: [string[][], number[]] = [[], []]
  const outcomes = await steered(async (some) => {
    asked.push([...some])
    return cancelled(some)
  }, progress)
  expect(asked.map(({ length }) => length)).toEqual([100, 100, 50])
  expect(asked.flat()).toEqual(runIds)
  expect(progress).toEqual([100, 200, 250])
  expect(bulkResult(outcomes)).toEqual({ total: 250, done: 250, refused: [] })
})

test('a request that fails is the last, and leaves what was done before, what is not known, and what was not asked for', async () => {
  let requests = 0
  const outcomes = await steered(async (some) => {
    if (++requests === 2) throw new Error('The server cannot be reached.')
    return cancelled(some)
  })
  expect(requests).toBe(2)
  expect(outcomes.map(({ runId }) => runId)).toEqual(runIds)
  expect(bulkResult(outcomes)).toEqual({
    total: 250,
    done: 100,
    refused: [
      {
        reason: 'Whether it is done is not known. The server cannot be reached.',
        runIds: runIds.slice(100, 200),
      },
      { reason: 'It was not asked for any more. The server cannot be reached.', runIds: runIds.slice(200) },
    ],
  })
})

test('refusals are gathered by their reason, that of most first, and a run that a reason names makes it no other', () => {
  const outcomes: BulkOutcome[] = [
    { runId: 'run-a', outcome: 'not_found', error: null },
    { runId: 'run-b', outcome: 'failed', error: 'Run "run-b" is held by another process.' },
    { runId: 'run-c', outcome: 'retried', error: null },
    { runId: 'run-d', outcome: 'failed', error: 'Run "run-d" is held by another process.' },
    { runId: 'run-e', outcome: 'unchanged', error: null },
  ]
  expect(bulkResult(outcomes)).toEqual({
    total: 5,
    done: 1,
    refused: [
      { reason: 'Run "…" is held by another process.', runIds: ['run-b', 'run-d'] },
      { reason: 'It is not there any more.', runIds: ['run-a'] },
      { reason: 'Its status had changed meanwhile, and does not allow it.', runIds: ['run-e'] },
    ],
  })
})

test.each([
  [250, 180, '180 of 250 runs cancelled. The other 70 stay selected.'],
  [3, 2, '2 of 3 runs cancelled. The other one stays selected.'],
  [1200, 0, 'None of the 1,200 runs was cancelled. They stay selected.'],
  [1, 0, 'The run was not cancelled, and stays selected.'],
])('of %i runs %i were done: it says so in words', (total, done, text) => {
  expect(refusedText({ total, done, refused: [] }, 'cancelled')).toBe(text)
})
