import { describe, expect, test } from 'vitest'
import type { WorkerFunction } from '../../api/functions.ts'
import type { Queue, Route } from '../../api/queues.ts'
import { filterQueueRows, isInTrouble, queueRows } from './queue-row.ts'

const queue = (name: string, rest: Partial<Queue> = {}): Queue => ({
  ...{ queue: name, steps: [], depth: 0, oldestSeconds: null, liveWorkers: 1, inFlight: 0, waitingSeconds: null },
  ...{ donePerMinute: null, stalled: 0, unsupported: 0, functions: [], isFenced: false, fence: null, troubles: [] },
  ...rest,
})
const route = (flow: string, step: string, rest: Partial<Route> = {}): Route => ({
  ...{ flow, step, queue: `${flow}__${step}`, depth: 0, oldestSeconds: null, liveWorkers: 1 },
  ...{ functions: [`${flow}__${step}`], isFenced: false, fence: null, problem: null },
  ...rest,
})
const workerFunction = (name: string): WorkerFunction => ({
  ...{ function: name, isEnabled: true, isEnabledBeforeFence: null },
  ...{ fencedBy: null, fencedAt: null, disabledReason: null, startMode: 'http', queues: [name], liveWorkers: 1 },
  ...{ lastInvokedAt: null, failedStarts: 0, lastError: null, lastErrorAt: null, lives: 0, tasksPerLife: null },
})

describe('rows of queues', () => {
  test('follow the order of flows and steps, and queues without a flow come last', () => {
    const rows = queueRows(
      [queue('mail'), queue('b__y'), queue('b__x'), queue('a__z')],
      [route('a', 'z'), route('b', 'x'), route('b', 'y')],
      [],
    )
    expect(rows.map((row) => [row.flow, row.queue])).toEqual([
      ['a', 'a__z'],
      ['b', 'b__x'],
      ['b', 'b__y'],
      [undefined, 'mail'],
    ])
  })

  test('a queue that several steps share is one row with all of them and each function once', () => {
    const shared = { queue: 'plain', functions: ['plain', 'plain-2'] }
    const [row, ...others] = queueRows(
      [queue('plain')],
      [route('plain', 'one', shared), route('plain', 'two', shared)],
      [workerFunction('plain'), workerFunction('plain-2')],
    )
    expect(others).toEqual([])
    expect(row).toMatchObject({ steps: ['one', 'two'], flow: 'plain' })
    expect(row?.functions.map((each) => each.function)).toEqual(['plain', 'plain-2'])
  })
})

describe('the coverage of a queue', () => {
  const coverage = (rest: Partial<Queue>, isFenced = false) =>
    queueRows([queue('f__s', rest)], [route('f', 's', { isFenced })], [])[0]

  test.each([
    ['a live worker covers it, whatever waits', { depth: 5, liveWorkers: 1 }, false, 'covered', false],
    ['without a worker and without work it is idle', { depth: 0, liveWorkers: 0 }, false, 'idle', false],
    ['without a worker work waits in vain', { depth: 1, liveWorkers: 0 }, false, 'uncovered', true],
    ['a fence is no trouble while nothing waits', { depth: 0, liveWorkers: 0 }, true, 'fenced', false],
    ['a fence before work is, also while a worker finishes', { depth: 3, liveWorkers: 1 }, true, 'fenced', true],
    ['a queue that is gone is, whoever lives', { depth: null, liveWorkers: 1 }, false, 'gone', true],
  ] as const)('%s', (_claim, rest, isFenced, expected, trouble) => {
    const row = coverage(rest, isFenced)
    expect(row?.coverage).toBe(expected)
    expect(row && isInTrouble(row)).toBe(trouble)
  })
})

describe('a search', () => {
  const rows = queueRows(
    [queue('shop__pay', { depth: 2, liveWorkers: 0 }), queue('shop__ship'), queue('mail')],
    [route('shop', 'pay'), route('shop', 'ship')],
    [],
  )
  const found = (filter: Parameters<typeof filterQueueRows>[1]) => filterQueueRows(rows, filter).map((row) => row.queue)

  test('finds in queue, flow and step, in any case', () => {
    expect(found({ text: ' SHIP' })).toEqual(['shop__ship'])
    expect(found({ text: 'shop' })).toEqual(['shop__pay', 'shop__ship'])
    expect(found({})).toEqual(['shop__pay', 'shop__ship', 'mail'])
    expect(found({ text: 'nothing' })).toEqual([])
  })

  test('may be for trouble alone', () => {
    expect(found({ isTrouble: true })).toEqual(['shop__pay'])
    expect(found({ isTrouble: true, text: 'mail' })).toEqual([])
  })
})
