import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeSql } from '../tests/support/fake-sql.ts'
import type { WorkerEventBody } from './events.ts'
import { Poller, type PollerOptions } from './poller.ts'
import { Solitude } from './solitude.ts'
import type { WorkSource } from './work.ts'
import type { ClaimedTask, TaskReport, TaskToRelease } from './worker-sql.ts'

function setUp({
  onUnsupported = 'skip',
  ...options
}: Partial<PollerOptions> & { onUnsupported?: 'halt' | 'skip' } = {}) {
  const sql = new FakeSql()
  const active: ClaimedTask[] = []
  const events: WorkerEventBody[] = []
  const states: string[] = []
  const poller = new Poller({
    source: sourceOn(sql, onUnsupported),
    maxConcurrent: 10,
    batchSize: 10,
    pollIntervalMs: 20,
    maxPollIntervalMs: 1000,
    activeCount: () => active.length,
    solitude: new Solitude(),
    onClaimed: (task) => active.push(task as ClaimedTask),
    onState: (state) => states.push(state),
    emit: (event) => events.push(event),
    ...options,
  })
  const finish = (count = 1) => {
    for (const { runId, stepSlug, taskIndex, attempt } of active.splice(0, count)) {
      poller.add({ kind: 'report', report: { runId, stepSlug, taskIndex, attempt, status: 'completed', output: '1' } })
    }
  }
  return { sql, active, events, states, poller, finish }
}

/** Takes a poller's calls to the stand-in of the database, as a flow's work does. */
function sourceOn(sql: FakeSql, onUnsupported: 'skip' | 'halt'): WorkSource {
  const subscription = { workerId: 'worker-1', queueName: 'orders__pack', flowSlug: 'orders', stepSlug: 'pack' }
  return {
    settleAndClaim: (reports, qty) =>
      sql.settleAndClaim({ ...subscription, reports: reports as readonly TaskReport[], qty, onUnsupported }),
    settle: async (reports) =>
      (await sql.settleTasks('worker-1', reports as readonly TaskReport[])).flatMap((result) =>
        result.accepted ? [] : { ...result, reason: result.reason ?? 'refused' },
      ),
    release: async (tasks) => void (await sql.releaseTasks('worker-1', tasks as readonly TaskToRelease[])),
    heldUp: async () => [],
    recoverStalled: async () => void (await sql.requeueStalledTasks()),
  }
}

const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

describe('Poller', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('claims as many as there are free slots, never more', async () => {
    const { sql, poller, active, finish } = setUp({ maxConcurrent: 3 })
    sql.enqueue(10)
    poller.start()
    await tick()
    expect(active).toHaveLength(3)
    expect(sql.claims.map(({ qty }) => qty)).toEqual([3])
    await tick(5000)
    expect(sql.claims).toHaveLength(1)
    finish(1)
    await tick(20)
    expect(active).toHaveLength(3)
    expect(sql.claims[1]).toMatchObject({ qty: 1, reports: [{ runId: 'run-0' }] })
    poller.end()
  })

  it('claims no more than a batch at a time, and the next batch at once', async () => {
    const { sql, poller, active } = setUp({ maxConcurrent: 10, batchSize: 4 })
    sql.enqueue(10)
    poller.start()
    await tick()
    expect(sql.claims.map(({ qty }) => qty)).toEqual([4, 4, 2])
    expect(active).toHaveLength(10)
    poller.end()
  })

  it('goes on filling free slots while a slow task holds one', async () => {
    const { sql, poller, active, finish } = setUp({ maxConcurrent: 2 })
    sql.enqueue(6)
    poller.start()
    await tick()
    const [slow] = active.splice(0, 1)
    if (slow !== undefined) active.push(slow)
    for (let round = 0; round < 4; round++) {
      active.sort((left, right) => Number(left === slow) - Number(right === slow))
      finish(1)
      await tick(20)
    }
    expect(active).toContain(slow)
    expect(sql.reports).toHaveLength(4)
    expect(sql.queue).toHaveLength(0)
    poller.end()
  })

  it('slows down from 20 ms to 1 s while idle, and wakes with the first task', async () => {
    const { sql, poller } = setUp()
    const times: number[] = []
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = (call) => {
      times.push(performance.now())
      return settleAndClaim(call)
    }
    poller.start()
    await tick(5000)
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    expect(gaps.slice(0, 8)).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000])
    sql.enqueue(1)
    const idlePolls = times.length
    await tick(1100)
    expect((times[idlePolls + 1] ?? 0) - (times[idlePolls] ?? 0)).toBe(20)
    poller.end()
  })

  it('reports a task that finishes alone without delay', async () => {
    const { sql, poller, finish } = setUp()
    sql.enqueue(1)
    poller.start()
    await tick(2000)
    finish(1)
    await tick(0)
    expect(sql.reports).toHaveLength(1)
    poller.end()
  })

  it('settles what finishes together in one call', async () => {
    const { sql, poller, finish } = setUp()
    sql.enqueue(10)
    poller.start()
    await tick()
    for (let done = 0; done < 10; done++) {
      finish(1)
      await tick(0)
    }
    await tick(20)
    expect(sql.batches[0]).toBeGreaterThanOrEqual(5)
    expect(sql.reports).toHaveLength(10)
    poller.end()
  })

  it('lets a finished task wait 10 ms at most for others', async () => {
    const { sql, poller, finish } = setUp()
    sql.enqueue(10)
    poller.start()
    await tick()
    finish(1)
    await tick(9)
    expect(sql.reports).toHaveLength(0)
    await tick(1)
    expect(sql.reports).toHaveLength(1)
    poller.end()
  })

  it('never has two calls under way', async () => {
    const { sql, poller, active, finish } = setUp({ maxConcurrent: 2 })
    let underWay = 0
    let most = 0
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = async (call) => {
      most = Math.max(most, ++underWay)
      await new Promise((resolve) => setTimeout(resolve, 50))
      underWay--
      return settleAndClaim(call)
    }
    sql.enqueue(20)
    poller.start()
    for (let step = 0; step < 200; step++) {
      await tick(10)
      if (active.length > 0) finish(1)
    }
    expect(most).toBe(1)
    expect(sql.reports).toHaveLength(20)
    poller.end()
  })

  it('keeps reports over database errors, backing off from 100 ms to 5 s and back', async () => {
    const { sql, poller, finish, events } = setUp()
    sql.enqueue(1)
    poller.start()
    await tick()
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = () => Promise.reject(Object.assign(new Error('gone away'), { code: 'CONNECTION_CLOSED' }))
    finish(1)
    await tick(20_000)
    const pauses = events.flatMap((event) => (event.event === 'database.failing' ? [event.retryInMs] : []))
    expect(pauses.slice(0, 8)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000])
    expect(sql.reports).toHaveLength(0)
    sql.settleAndClaim = settleAndClaim
    await tick(5000)
    expect(sql.reports).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ event: 'database.recovered', failures: pauses.length })
    poller.end()
  })

  it('tries again at once when it is told to leave, and then does not wait long', async () => {
    const { sql, poller, finish, events } = setUp()
    sql.enqueue(1)
    poller.start()
    await tick()
    const gone = () => Promise.reject(new Error('gone away'))
    Object.assign(sql, { settleAndClaim: gone, settleTasks: gone })
    finish(1)
    await tick(20_000)
    const failures = events.length
    poller.stopClaiming()
    await tick(0)
    expect(events).toHaveLength(failures + 1)
    expect(events.at(-1)).toMatchObject({ event: 'database.failing', retryInMs: 400 })
    poller.end()
  })

  it('logs a refused report, and says when it may have been a repetition', async () => {
    const { sql, poller, finish, events } = setUp()
    sql.enqueue(1)
    poller.start()
    await tick()
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = async (call) => {
      await settleAndClaim(call)
      sql.settleAndClaim = async (again) => ({
        ...(await settleAndClaim({ ...again, reports: [] })),
        refused: again.reports.map((report) => ({ ...report, reason: 'completed already' })),
      })
      throw new Error('the answer was lost')
    }
    finish(1)
    await tick(200)
    expect(events).toContainEqual({
      level: 'warn',
      event: 'report.refused',
      runId: 'run-0',
      stepSlug: 'pack',
      taskIndex: 0,
      reason: 'completed already',
      repeated: true,
    })
    expect(poller.pendingCount).toBe(0)
    poller.end()
  })

  it('lets no report that cannot be stored hold up the others', async () => {
    const { sql, poller, finish, events } = setUp()
    const refuse = (reports: readonly TaskReport[]) => {
      if (reports.some((report) => report.runId === 'run-1' && report.status === 'completed')) {
        throw Object.assign(new Error('unsupported Unicode escape sequence "secret"'), { code: '22P05' })
      }
    }
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    const settleTasks = sql.settleTasks.bind(sql)
    sql.settleAndClaim = async (call) => {
      refuse(call.reports)
      return settleAndClaim(call)
    }
    sql.settleTasks = async (workerId, reports) => {
      refuse(reports)
      return settleTasks(workerId, reports)
    }
    sql.enqueue(3)
    poller.start()
    await tick()
    finish(3)
    await tick(2000)
    expect(sql.reports.map(({ runId, status }) => [runId, status])).toEqual([
      ['run-0', 'completed'],
      ['run-2', 'completed'],
      ['run-1', 'failed'],
    ])
    expect(JSON.stringify(events)).not.toMatch('secret')
    poller.end()
  })

  it('gives up a subscription that the database refuses, and still settles', async () => {
    const { sql, poller, finish } = setUp({ onState: () => poller.stopClaiming() })
    sql.enqueue(1)
    poller.start()
    await tick()
    sql.settleAndClaim = () => Promise.reject(Object.assign(new Error('no such flow'), { code: 'SF302' }))
    finish(1)
    await tick(1000)
    await poller.drained()
    expect(sql.reports).toHaveLength(1)
  })

  it('gives back what a claim brings after the signal to stop', async () => {
    const { sql, poller, active } = setUp()
    sql.enqueue(2)
    let answer = () => {}
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = async (call) => {
      const work = await settleAndClaim(call)
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return work
    }
    poller.start()
    await tick()
    poller.stopClaiming()
    answer()
    await poller.drained()
    expect(active).toEqual([])
    expect(sql.released).toEqual([
      { runId: 'run-0', stepSlug: 'pack', taskIndex: 0, attempt: 1, started: false },
      { runId: 'run-1', stepSlug: 'pack', taskIndex: 0, attempt: 1, started: false },
    ])
  })

  it('settles without claiming while it drains, and is drained with the last report', async () => {
    const { sql, poller, finish } = setUp()
    sql.enqueue(2)
    poller.start()
    await tick()
    poller.stopClaiming()
    const claims = sql.claims.length
    let isDrained = false
    void poller.drained().then(() => {
      isDrained = true
    })
    finish(1)
    await tick(50)
    expect([sql.reports.length, isDrained]).toEqual([1, false])
    finish(1)
    await tick(50)
    expect([sql.reports.length, isDrained, sql.claims.length]).toEqual([2, true, claims])
  })

  it('warns about an unsupported message once, and goes on', async () => {
    const { sql, poller, events } = setUp()
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = async (call) => ({
      ...(await settleAndClaim(call)),
      unsupported: [{ messageId: '99', flowSlug: null, stepSlug: null, readCount: 1 }],
    })
    poller.start()
    await tick(1000)
    sql.enqueue(1)
    await tick(1000)
    expect(events.filter(({ event }) => event === 'message.unsupported')).toHaveLength(1)
    expect(poller.unsupportedCount).toBeGreaterThan(3)
    expect(sql.queue).toHaveLength(0)
    poller.end()
  })

  it('says when it was halted, with the ids of the messages', async () => {
    const { sql, poller, events, states } = setUp({ onUnsupported: 'halt' })
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = async (call) => ({
      ...(await settleAndClaim(call)),
      halted: true,
      unsupported: [{ messageId: '99', flowSlug: null, stepSlug: null, readCount: 1 }],
    })
    poller.start()
    await tick()
    expect(sql.claims[0]?.onUnsupported).toBe('halt')
    expect(states).toEqual(['halted'])
    expect(events).toContainEqual({ level: 'error', event: 'worker.halted', messageIds: ['99'] })
    poller.end()
  })

  it('has stalled tasks recovered that no claim can end', async () => {
    const { sql, poller } = setUp()
    const settleAndClaim = sql.settleAndClaim.bind(sql)
    sql.settleAndClaim = async (call) => ({ ...(await settleAndClaim(call)), stalled: sql.claims.length === 1 ? 1 : 0 })
    poller.start()
    await tick(100)
    expect(sql.calls.filter((call) => call === 'requeueStalledTasks')).toHaveLength(1)
    poller.end()
  })
})
