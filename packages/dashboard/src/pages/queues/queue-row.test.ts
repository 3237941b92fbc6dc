import { describe, expect, test } from 'vitest'
import type { WorkerFunction } from '../../api/functions.ts'
import type { Queue } from '../../api/queues.ts'
import { filterQueueRows, queueRows } from './queue-row.ts'

const queue = (name: string, rest: Partial<Queue> = {}): Queue => ({
  ...{ queue: name, steps: [], depth: 0, oldestSeconds: null, liveWorkers: 1, inFlight: 0, waitingSeconds: null },
  ...{ donePerMinute: null, stalled: 0, unsupported: 0, functions: [], isFenced: false, fence: null, troubles: [] },
  ...rest,
})
const workerFunction = (name: string): WorkerFunction => ({
  ...{ function: name, isEnabled: true, isEnabledBeforeFence: null },
  ...{ fencedBy: null, fencedAt: null, disabledReason: null, startMode: 'http', queues: [name], liveWorkers: 1 },
  ...{ lastInvokedAt: null, failedStarts: 0, lastError: null, lastErrorAt: null, lives: 0, tasksPerLife: null },
  ...{ measuredWorkers: 0, cpuMsPerTask: null },
})
const flow = (name: string, ...steps: string[]) => ({
  flow: name,
  steps: steps.map((step) => ({ step, queue: `${name}__${step}` })),
})

describe('rows of queues', () => {
  test('follow flows by name and steps by their order, and queues without a flow come last', () => {
    const rows = queueRows(
      [
        queue('mail'),
        queue('b__first', { steps: ['b.first'] }),
        queue('b__after', { steps: ['b.after'] }),
        queue('a__only', { steps: ['a.only'] }),
      ],
      [],
      [flow('b', 'first', 'after'), flow('a', 'only')],
    )
    expect(rows.map((row) => [row.flow, row.queue])).toEqual([
      ['a', 'a__only'],
      ['b', 'b__first'],
      ['b', 'b__after'],
      [undefined, 'mail'],
    ])
  })

  test('a queue that several steps share names all of them, and its functions with their fence', () => {
    const [row] = queueRows(
      [queue('plain', { steps: ['plain.one', 'plain.two'], functions: ['plain', 'plain-2', 'unknown'] })],
      [workerFunction('plain'), workerFunction('plain-2'), workerFunction('other')],
      [],
    )
    expect(row).toMatchObject({ stepSlugs: ['one', 'two'], flow: 'plain' })
    expect(row?.workerFunctions.map((each) => each.function)).toEqual(['plain', 'plain-2'])
  })
})

describe('the coverage of a queue', () => {
  test.each([
    ['a live worker covers it, whatever waits', { depth: 5, liveWorkers: 1 }, 'covered'],
    ['without a worker and without work it is idle', { depth: 0, liveWorkers: 0 }, 'idle'],
    ['without a worker work waits in vain', { depth: 1, liveWorkers: 0 }, 'uncovered'],
    ['a fence is told first, also while a worker finishes', { depth: 3, liveWorkers: 1, isFenced: true }, 'fenced'],
    ['of a queue that is gone nothing else is told', { depth: null, liveWorkers: 1, isFenced: true }, 'gone'],
  ] as const)('%s', (_claim, rest, expected) => {
    expect(queueRows([queue('q', rest)], [], [])[0]?.coverage).toBe(expected)
  })
})

describe('a search', () => {
  const rows = queueRows(
    [
      queue('shop__pay', { steps: ['shop.pay'], troubles: ['no_worker'] }),
      queue('shop__ship', { steps: ['shop.ship'] }),
      queue('mail'),
    ],
    [],
    [flow('shop', 'pay', 'ship')],
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
