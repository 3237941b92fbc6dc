import { describe, expect, test } from 'vitest'
import type { FlowSummary } from './flow-queries.ts'
import { byFamily, fitsText, otherVersions, placementsText, standingText } from './flow-versions.ts'

function flow(slug: string, family: string, version: number | null, openRuns: number | null = 0): FlowSummary {
  return {
    ...{ flow: slug, family, version, placements: ['queue'], queueMode: 'step', isPaused: false, pausedAt: null },
    ...{ compiledAt: null, inputSchema: null, schedules: [], steps: [] },
    drain:
      openRuns === null
        ? null
        : { openRuns, openWaits: 0, oldestOpenRunAt: null, liveWorkers: 0, isDrained: openRuns === 0 },
  }
}
const flows = [
  flow('ordersV2', 'orders', 2),
  flow('invoice', 'invoice', null),
  flow('ordersV10', 'orders', 10),
  flow('ordersV1', 'orders', 1, 3),
]

test('versions stand together, counted as numbers, the newest first', () => {
  expect(byFamily(flows).map((each) => [each.flow.flow, each.isNewest])).toEqual([
    ['invoice', true],
    ['ordersV10', true],
    ['ordersV2', false],
    ['ordersV1', false],
  ])
  expect(otherVersions(flows, flows[0]!).map((each) => each.flow.flow)).toEqual(['ordersV10', 'ordersV1'])
})

describe('a version', () => {
  test('is the newest, or on its way out', () => {
    expect(byFamily(flows).map(standingText)).toEqual(['newest', 'newest', 'older, drained', 'older, draining'])
    expect(standingText({ flow: flow('x', 'x', 1, null), isNewest: false })).toBe('older')
  })

  test('tells where its runs go', () => {
    expect(placementsText({ placements: ['queue', 'runner'], queueMode: 'step' })).toBe('step queues, runners')
    expect(placementsText({ placements: ['queue'], queueMode: 'flow' })).toBe('one queue')
    expect(placementsText({ placements: [], queueMode: null })).toBe('nothing yet')
  })
})

test('a flow is found by its slug and by its steps, whatever the case of the letters', () => {
  const step: FlowSummary['steps'][number] = {
    ...{ step: 'classify', type: 'single', dependsOn: [], queue: null, condition: null, whenExhausted: 'fail' },
    options: {
      ...{ maxAttempts: null, baseDelaySeconds: null, maxDelaySeconds: null, timeoutSeconds: null },
      startDelaySeconds: null,
    },
  }
  const threads = { ...flow('threadsV1', 'threads', 1), steps: [step] }
  expect(['THREADS', ' assi', 'orders'].map((text) => fitsText(threads, text))).toEqual([true, true, false])
})
