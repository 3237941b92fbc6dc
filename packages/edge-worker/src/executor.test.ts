import { getEventListeners } from 'node:events'
import { NonRetryableError, RetryLater, toJsonText } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WorkerEventBody } from './events.ts'
import { Executor } from './executor.ts'
import { TIMEOUT_GRACE_MS } from './numbers.ts'
import type { TaskOutcome } from './task-outcome.ts'
import type { TaskSpans } from './task-span.ts'
import { WorkerShutdownError } from './worker-shutdown-error.ts'
import type { ClaimedTask } from './worker-sql.ts'

const TASK: ClaimedTask = {
  flowSlug: 'orders',
  runId: 'run-1',
  stepSlug: 'pack',
  taskIndex: 0,
  messageId: '1',
  attempt: 2,
  input: {},
  flowInput: null,
  timeoutSeconds: 3,
}

function setUp(invoke: (task: ClaimedTask, signal: AbortSignal) => unknown, spans?: TaskSpans) {
  const shutdown = new AbortController()
  const outcomes: TaskOutcome[] = []
  const events: WorkerEventBody[] = []
  const executor = new Executor({
    work: {
      invoke: (item, signal) => invoke(item as ClaimedTask, signal),
      serialise: toJsonText,
      lost: async () => new Map(),
      timeoutSeconds: (item) => (item as ClaimedTask).timeoutSeconds,
      timeoutError: () =>
        new StarflowError({ code: 'SF407', message: 'Step "pack" did not end within its timeout of 3 s.' }),
    },
    ...(spans === undefined ? {} : { spans: () => spans }),
    shutdownSignal: shutdown.signal,
    onOutcome: (outcome) => outcomes.push(outcome),
    emit: (event) => events.push(event),
  })
  return { executor, outcomes, events, shutdown }
}

async function outcomeOf(invoke: (task: ClaimedTask, signal: AbortSignal) => unknown) {
  const { executor, outcomes } = setUp(invoke)
  executor.start(TASK)
  await executor.idle()
  return outcomes[0]
}

async function failureOf(invoke: () => unknown) {
  const outcome = await outcomeOf(invoke)
  if (outcome?.kind !== 'report' || outcome.report.status !== 'failed') throw new Error('It did not fail.')
  return outcome.report
}

const thrower = (thrown: unknown) => () => {
  throw thrown
}

describe('Executor', () => {
  for (const [output, text] of [
    [undefined, 'null'],
    [0, '0'],
    [false, 'false'],
    ['', '""'],
    [{ a: [1] }, '{"a":[1]}'],
  ] as const) {
    it(`reports ${JSON.stringify(output) ?? 'undefined'} as ${text}`, async () => {
      expect(await outcomeOf(() => output)).toEqual({
        kind: 'report',
        report: { runId: 'run-1', stepSlug: 'pack', taskIndex: 0, attempt: 2, status: 'completed', output: text },
      })
    })
  }

  for (const thrown of [null, undefined, 'text', 7n, Object.create(null), Proxy.revocable({}, {}).proxy]) {
    it(`reports a failure for whatever is thrown (${typeof thrown})`, async () => {
      expect((await failureOf(thrower(thrown))).errorMessage).not.toBe('')
    })
  }

  it('survives a thrown proxy that was revoked', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect((await failureOf(thrower(proxy))).status).toBe('failed')
  })

  it('survives a thenable that throws', async () => {
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a handler may return such a thing.
      get then() {
        throw new Error('no then')
      },
    }
    expect((await failureOf(() => thenable)).errorMessage).toBe('no then')
  })

  it('fails an attempt whose output JSON cannot hold, readably and not for good', async () => {
    const report = await failureOf(() => ({ total: 7n }))
    expect(report.errorMessage).toMatch('$.total is a BigInt')
    expect(report.permanent).toBeUndefined()
  })

  it('passes on the delay that a handler chose', async () => {
    expect((await failureOf(thrower(new RetryLater({ delaySeconds: 7 })))).retryDelaySeconds).toBe(7)
  })

  for (const delaySeconds of [Number.NaN, -1, 1e12]) {
    it(`treats a chosen delay of ${delaySeconds} as a failure like any other`, async () => {
      const report = await failureOf(thrower(new RetryLater({ delaySeconds })))
      expect(report.retryDelaySeconds).toBeUndefined()
      expect(report.permanent).toBeUndefined()
    })
  }

  it('marks a NonRetryableError permanent', async () => {
    expect((await failureOf(thrower(new NonRetryableError('gone')))).permanent).toBe(true)
  })

  it('takes an AbortError of the handler for a failure', async () => {
    expect((await failureOf(thrower(new DOMException('aborted', 'AbortError')))).error?.name).toBe('AbortError')
  })

  it('gives back what our shutdown signal ended, and nothing else', async () => {
    const { executor, outcomes, shutdown } = setUp(
      (task, signal) =>
        new Promise((_resolve, reject) => {
          const reason = () =>
            task.taskIndex === 0
              ? signal.reason
              : task.taskIndex === 1
                ? new Error('x', { cause: signal.reason })
                : 'own'
          signal.addEventListener('abort', () => reject(reason()))
        }),
    )
    for (const taskIndex of [0, 1, 2]) executor.start({ ...TASK, taskIndex })
    shutdown.abort(new WorkerShutdownError('test'))
    await executor.idle()
    expect(outcomes.map(({ kind }) => kind)).toEqual(['release', 'release', 'report'])
    expect(outcomes[0]).toMatchObject({ task: { started: true, attempt: 2 } })
  })

  it('completes a handler that ends by itself during the shutdown', async () => {
    let end = (_output: string) => {}
    const { executor, outcomes, shutdown } = setUp(() => new Promise((resolve) => (end = resolve)))
    executor.start(TASK)
    shutdown.abort(new WorkerShutdownError('test'))
    await Promise.resolve()
    end('done')
    await executor.idle()
    expect(outcomes[0]).toMatchObject({ report: { status: 'completed', output: '"done"' } })
  })
})

describe('Executor, at the timeout of a step', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('aborts the signal and fails the attempt with the timeout, whatever the handler then throws', async () => {
    const { executor, outcomes } = setUp(
      (_task, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('something else')))),
    )
    executor.start(TASK)
    await vi.advanceTimersByTimeAsync(2999)
    expect(outcomes).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(outcomes[0]).toMatchObject({
      report: { status: 'failed', errorMessage: 'Step "pack" did not end within its timeout of 3 s.' },
    })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('frees the slot of a handler that never ends', async () => {
    const { executor, outcomes, events } = setUp(() => new Promise(() => {}))
    executor.start(TASK)
    await vi.advanceTimersByTimeAsync(3000 + TIMEOUT_GRACE_MS - 1)
    expect(executor.activeCount).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(executor.activeCount).toBe(0)
    expect(outcomes).toHaveLength(1)
    expect(events.map(({ event }) => event)).toEqual(['task.abandoned', 'task.failed'])
  })

  it('gives no handler a task whose time was over before its span had begun', async () => {
    const invoked: unknown[] = []
    const silent = { begin: () => new Promise(() => {}) } as unknown as TaskSpans
    const { executor, outcomes } = setUp((task) => invoked.push(task), silent)
    executor.start(TASK)
    await vi.advanceTimersByTimeAsync(3000 + TIMEOUT_GRACE_MS)
    expect(outcomes).toMatchObject([{ report: { status: 'failed', errorMessage: expect.stringContaining('timeout') } }])
    expect(invoked).toEqual([])
  })

  it('leaves no timer and no listener behind a task that ends in time', async () => {
    const { executor, shutdown } = setUp(() => 1)
    const listening = () => getEventListeners(shutdown.signal, 'abort').length
    const before = listening()
    executor.start(TASK)
    await executor.idle()
    expect(vi.getTimerCount()).toBe(0)
    expect(listening()).toBe(before)
  })

  it('listens to the shutdown once, however many tasks it has, and tells all of them', async () => {
    const signals: AbortSignal[] = []
    const endless = (_task: ClaimedTask, signal: AbortSignal) => {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const { executor, shutdown } = setUp(endless)
    for (let taskIndex = 0; taskIndex < 12; taskIndex++) executor.start({ ...TASK, taskIndex })
    expect(getEventListeners(shutdown.signal, 'abort')).toHaveLength(1)
    shutdown.abort(new WorkerShutdownError('test'))
    executor.start({ ...TASK, taskIndex: 12 })
    expect(signals.map(({ aborted }) => aborted)).toEqual(Array.from({ length: 13 }, () => true))
  })
})
