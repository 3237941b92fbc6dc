import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunSnapshot, RunStatus, StepStatus } from './run-state.ts'
import { RunStore } from './run-store.ts'
import { judgeRun, judgeStep } from './state-order.ts'

const RUN_ID = '00000000-0000-4000-8000-000000000001'
const AT = '2026-01-01T00:00:00.123456+00:00'

/** A moment of a run with one step. */
interface Moment {
  readonly run: RunStatus
  readonly step: StepStatus
}

function snapshotOf({ run, step }: Moment): RunSnapshot {
  const at = (status: string, wanted: string) => (status === wanted ? new Date(AT) : null)
  return {
    delivery: 'private',
    run: {
      runId: RUN_ID,
      flowSlug: 'orders',
      status: run,
      input: {},
      output: run === 'completed' ? { a: 1 } : null,
      startedAt: new Date(AT),
      completedAt: at(run, 'completed'),
      failedAt: at(run, 'failed'),
      cancelledAt: at(run, 'cancelled'),
      cancelReason: null,
    },
    steps: [
      {
        stepSlug: 'a',
        status: step,
        output: step === 'completed' ? 1 : null,
        errorMessage: null,
        skipReason: null,
        startedAt: at(step, 'started'),
        completedAt: at(step, 'completed'),
        failedAt: at(step, 'failed'),
        skippedAt: at(step, 'skipped'),
      },
    ],
  }
}

const runBroadcast = (status: RunStatus, more: object = {}) => ({
  event_type: `run:${status}`,
  run_id: RUN_ID,
  status,
  ...(status === 'completed' && { output: { a: 1 }, completed_at: AT }),
  ...more,
})
const stepBroadcast = (status: StepStatus, more: object = {}) => ({
  event_type: `step:${status}`,
  run_id: RUN_ID,
  step_slug: 'a',
  status,
  ...(status === 'completed' && { output: 1, completed_at: AT }),
  ...more,
})

function storeAt(moment: Moment): { store: RunStore; told: string[] } {
  const told: string[] = []
  const snapshot = snapshotOf(moment)
  const store = new RunStore(snapshot.run, ({ type }) => told.push(type))
  store.takeSnapshot(snapshot)
  return { store, told }
}

/** Everything that can happen to a run with one step, retries included. */
const HISTORIES: readonly (readonly Moment[])[] = [
  [
    { run: 'started', step: 'started' },
    { run: 'started', step: 'completed' },
    { run: 'completed', step: 'completed' },
  ],
  [
    { run: 'started', step: 'created' },
    { run: 'started', step: 'skipped' },
    { run: 'completed', step: 'skipped' },
  ],
  [
    { run: 'started', step: 'started' },
    { run: 'started', step: 'failed' },
    { run: 'failed', step: 'failed' },
    { run: 'started', step: 'started' },
    { run: 'started', step: 'failed' },
    { run: 'failed', step: 'failed' },
    { run: 'started', step: 'started' },
    { run: 'started', step: 'completed' },
    { run: 'completed', step: 'completed' },
  ],
  [
    { run: 'started', step: 'started' },
    { run: 'cancelled', step: 'started' },
    { run: 'started', step: 'started' },
    { run: 'started', step: 'completed' },
    { run: 'completed', step: 'completed' },
  ],
]

describe('what is known of a run', () => {
  test('is never taken back by a broadcast that comes late, whatever the history, retries included', () => {
    const histories = fc.constantFrom(...HISTORIES).chain((history) =>
      fc.record({
        history: fc.constant(history),
        now: fc.integer({ min: 0, max: history.length - 1 }),
        late: fc.array(fc.record({ from: fc.nat(), isStep: fc.boolean() }), { maxLength: 20 }),
      }),
    )
    fc.assert(
      fc.property(histories, ({ history, now, late }) => {
        const { store, told } = storeAt(history[now]!)
        for (const { from, isStep } of late) {
          const { run, step } = history[from % (now + 1)]!
          store.takeBroadcast(isStep ? stepBroadcast(step) : runBroadcast(run))
        }
        expect([store.run.status, store.step('a')?.status]).toEqual([history[now]!.run, history[now]!.step])
        expect(told).toEqual([])
      }),
    )
  })

  test('follows broadcasts and reads in any order to where the run is, without going back', () => {
    const paths = fc.constantFrom(...HISTORIES).chain((history) =>
      fc.record({
        history: fc.constant(history),
        order: fc.array(fc.record({ at: fc.nat(), kind: fc.constantFrom('run', 'step') }), { maxLength: 30 }),
      }),
    )
    fc.assert(
      fc.property(paths, ({ history, order }) => {
        const { store } = storeAt(history[0]!)
        // Reads come one after the other, so what they see only moves on; broadcasts come as they like.
        for (const { at, kind } of order) {
          const moment = history[at % history.length]!
          const mustRead = store.takeBroadcast(kind === 'run' ? runBroadcast(moment.run) : stepBroadcast(moment.step))
          if (mustRead) store.takeSnapshot(snapshotOf(history.at(-1)!))
        }
        store.takeSnapshot(snapshotOf(history.at(-1)!))
        expect(store.isSettled).toBe(true)
        expect(store.run.status).toBe('completed')
      }),
    )
  })

  test('that was completed by a broadcast is kept by a read that was under way', () => {
    const { store, told } = storeAt({ run: 'started', step: 'started' })
    store.takeBroadcast(stepBroadcast('completed'))
    store.takeBroadcast(runBroadcast('completed'))
    store.takeSnapshot(snapshotOf({ run: 'started', step: 'started' }))
    expect([store.run.status, store.run.output, store.step('a')?.output]).toEqual(['completed', { a: 1 }, 1])
    expect(told).toEqual(['step:completed', 'run:completed'])
  })

  test.each([
    ['a failure of the run', runBroadcast('failed')],
    ['a cancellation', runBroadcast('cancelled')],
    ['a failure of a step', stepBroadcast('failed')],
    ['a step that it does not know', stepBroadcast('started', { step_slug: 'b' })],
    ['an output that was left out', stepBroadcast('completed', { omitted: ['output'], output: undefined })],
    ['the output of the run that was left out', runBroadcast('completed', { omitted: ['output'], output: undefined })],
    ['the end of a run whose step has not been heard of', runBroadcast('completed')],
  ])('is asked of the database after %s', (_what, broadcast) => {
    expect(storeAt({ run: 'started', step: 'started' }).store.takeBroadcast(broadcast)).toBe(true)
  })

  test.each([
    null,
    'run:completed',
    {},
    runBroadcast('completed', { run_id: 'another' }),
    stepBroadcast('completed', { step_slug: 7 }),
    runBroadcast('completed', { status: 1 }),
  ])('is left alone by what is no broadcast of the run: %j', (broadcast) => {
    const { store } = storeAt({ run: 'started', step: 'started' })
    expect(store.takeBroadcast(broadcast)).toBe(false)
    expect(store.run.status).toBe('started')
  })

  test('tells each change once, however often it is heard', () => {
    const { store, told } = storeAt({ run: 'started', step: 'created' })
    for (let time = 0; time < 3; time++) {
      store.takeBroadcast(stepBroadcast('started', { started_at: AT }))
      store.takeSnapshot(snapshotOf({ run: 'started', step: 'started' }))
    }
    expect(told).toEqual(['step:started'])
    expect(store.step('a')?.startedAt?.toISOString()).toBe('2026-01-01T00:00:00.123Z')
  })

  test('tells a restart first and an end last when one read brings both', () => {
    const failed = storeAt({ run: 'failed', step: 'failed' })
    failed.store.takeSnapshot(snapshotOf({ run: 'started', step: 'started' }))
    expect(failed.told).toEqual(['run:started', 'step:started'])
    failed.store.takeSnapshot(snapshotOf({ run: 'completed', step: 'completed' }))
    expect(failed.told.slice(2)).toEqual(['step:completed', 'run:completed'])
  })
})

test('a status that this version does not know is asked of the database', () => {
  expect(judgeRun('started', 'paused' as never)).toBe('read')
  expect(judgeStep('started', 'waiting' as never)).toBe('read')
})
