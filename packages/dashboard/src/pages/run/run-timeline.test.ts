import { expect, test } from 'vitest'
import type { RunDetail, StepView } from './run-queries.ts'
import { timedRun } from './run-timeline.ts'

const at = '2026-11-30T03:00:00.000Z'
const step = { step: 'wrap', type: 'single', readyAt: at, startedAt: null, endedAt: null, dueAt: null, spans: [] }

test('a step that the end of its run cut off is no longer under way, as in the picture of the run', () => {
  const run = (status: RunDetail['status']) =>
    ({
      status,
      createdAt: at,
      endedAt: at,
      steps: [{ ...step, status: 'started' } as unknown as StepView],
    }) as unknown as RunDetail
  expect(timedRun(run('error')).steps[0]?.status).toBe('cancelled')
  expect(timedRun(run('running')).steps[0]?.status).toBe('queued')
})
