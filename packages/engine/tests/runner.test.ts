import { setTimeout as timer } from 'node:timers/promises'
import { Flow, RetryLater } from '@starflow/dsl'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '../src/engine/clock.ts'
import type { RunClaim } from '../src/run-record.ts'
import { LeaseSweep } from '../src/runner/lease-sweep.ts'
import { Runner, type RunnerOptions } from '../src/runner/runner.ts'
import type { RunnerEvent } from '../src/runner/runner-events.ts'
import type { QueueingStateAdapter } from '../src/state-adapter.ts'
import { useStore } from './conformance/adapter-factory.ts'
import { SWEEP, TTL_MS } from './conformance/run-fixture.ts'
import { deferred } from './support/deferred.ts'
import { EventLog } from './support/event-log.ts'
import { localStores } from './support/local-store.ts'
import { overriddenAdapter } from './support/overridden-adapter.ts'
import { enqueueFlow } from './support/queued-flow.ts'

const store = useStore(localStores)
const runners: Runner[] = []

/** A runner that asks often, so that a test waits for what happens and not for its clock. */
function runner(flows: readonly Flow<never>[], options: Partial<RunnerOptions> = {}) {
  const log = new EventLog<RunnerEvent>()
  const made = new Runner(flows as never, {
    adapter: store().adapter,
    ...{ claimIntervalMs: 10, heartbeatIntervalMs: 10, sweepIntervalMs: 10, onEvent: log.record },
    ...options,
  }) as Runner
  runners.push(made)
  return { runner: made, log }
}

afterEach(async () => {
  for (const each of runners.splice(0)) await each.stop()
})

const eventsOf = async (runId: string, adapter: QueueingStateAdapter = store().adapter) =>
  (await adapter.readEvents(runId)).map(({ type, nodeId }) => (nodeId === null ? type : `${type} ${nodeId}`))

/** A flow whose only step waits until it is let go. */
function blocking() {
  const entered = deferred()
  const release = deferred()
  const signals: AbortSignal[] = []
  const flow = new Flow({ slug: 'blocking', baseDelay: 0 }).step({ slug: 'block' }, async (_, ctx) => {
    signals.push(ctx.signal)
    entered.resolve()
    await release.promise
    return 'done'
  })
  return { flow: flow as unknown as Flow<never>, entered, release, signals }
}

const simple = new Flow<{ n: number }>({ slug: 'simple' })
  .step({ slug: 'double' }, ({ n }) => n * 2)
  .step({ slug: 'again', dependsOn: ['double'] }, ({ double }) => double * 2) as unknown as Flow<never>

test('a queued run is claimed, executed and given up', async () => {
  const { adapter } = store()
  const runId = await enqueueFlow(adapter, simple, { n: 2 })
  const { runner: first, log } = runner([simple])
  await first.start()
  await log.seen('run.ended')
  expect(await adapter.readRun(runId)).toMatchObject({
    ...{ status: 'success', claimState: 'complete', output: { again: 8 }, leasedBy: null, claimAttempts: 1 },
  })
})

test('a runner that is woken claims without waiting for its interval', async () => {
  const { adapter } = store()
  const { runner: first, log } = runner([simple], { claimIntervalMs: 3_600_000, heartbeatIntervalMs: 3_600_000 })
  await first.start()
  await enqueueFlow(adapter, simple, { n: 2 })
  await log.seen('run.ended')
})

test('there are never more claims than free slots', async () => {
  const { adapter } = store()
  const { flow, entered, release } = blocking()
  for (let run = 0; run < 3; run++) await enqueueFlow(adapter, flow, {})
  const { runner: first, log } = runner([flow], { concurrency: 1 })
  await first.start()
  await entered.promise
  await timer(50)
  expect(first.activeRuns).toBe(1)
  expect(log.names().filter((name) => name === 'run.claimed')).toHaveLength(1)
  release.resolve()
  await log.seen('run.ended', 3)
})

test('two runners share the runs: each is executed once', async () => {
  const { adapter, connect } = store()
  const runIds = await Promise.all(Array.from({ length: 20 }, (_, n) => enqueueFlow(adapter, simple, { n })))
  const both = [runner([simple], { concurrency: 2 }), runner([simple], { concurrency: 2, adapter: await connect() })]
  await Promise.all(both.map(({ runner: each }) => each.start()))
  const ended = () => both.flatMap(({ log }) => log.names()).filter((name) => name === 'run.ended').length
  await vi.waitFor(() => expect(ended()).toBe(20), { timeout: 60_000 })
  for (const runId of runIds) {
    expect((await eventsOf(runId)).filter((event) => event === 'node_start double')).toHaveLength(1)
  }
})

describe('a lost runner', () => {
  test('its run is claimed again, and no completed node runs a second time', async () => {
    const { adapter, advance } = store()
    const ran: string[] = []
    const flow = new Flow({ slug: 'resumed' })
      .step({ slug: 'first' }, () => void ran.push('first'))
      .step({ slug: 'second', dependsOn: ['first'] }, () => void ran.push('second')) as unknown as Flow<never>
    const runId = await enqueueFlow(adapter, flow, {})
    const { definitionId } = (await adapter.readRun(runId))!
    const dead = await adapter.claimNextQueuedRun({
      ...{ runnerId: 'dead', leaseTtlMs: TTL_MS, definitionIds: [definitionId!] },
    })
    const bound = adapter.bind(dead!.claim)
    await bound.onRunStart(runId, dead!.run)
    await bound.onNodeStart(runId, 'first', { attempt: 1 })
    await bound.onNodeComplete(runId, 'first', null)
    await bound.onNodeStart(runId, 'second', { attempt: 1 })
    await advance(TTL_MS + 1)

    const { runner: next, log } = runner([flow])
    await next.start()
    await log.seen('run.ended')
    expect(ran).toEqual(['second'])
    expect(log.events.find(({ event }) => event === 'run.swept')).toMatchObject({ runId, outcome: 'requeued' })
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', claimAttempts: 2 })
    const starts = (await adapter.readEvents(runId)).filter(({ type }) => type === 'node_start')
    expect(starts.map(({ nodeId, payload }) => [nodeId, payload?.attempt])).toEqual([
      ...[['first', 1]],
      ...[['second', 1]],
      ...[['second', 2]],
    ])
  })

  test('an attempt that was cut off counts: without another one its step fails', async () => {
    const { adapter, advance } = store()
    let calls = 0
    const flow = new Flow({ slug: 'once', maxAttempts: 1 }).step(
      { slug: 'pay' },
      () => ++calls,
    ) as unknown as Flow<never>
    const runId = await enqueueFlow(adapter, flow, {})
    const { definitionId } = (await adapter.readRun(runId))!
    const dead = await adapter.claimNextQueuedRun({
      ...{ runnerId: 'dead', leaseTtlMs: TTL_MS, definitionIds: [definitionId!] },
    })
    await adapter.bind(dead!.claim).onRunStart(runId, dead!.run)
    await adapter.bind(dead!.claim).onNodeStart(runId, 'pay', { attempt: 1 })
    await advance(TTL_MS + 1)
    const { runner: next, log } = runner([flow])
    await next.start()
    await log.seen('run.ended')
    expect(calls).toBe(0)
    expect(await adapter.readRun(runId)).toMatchObject({
      ...{ status: 'error', error: expect.stringContaining('Stalled: no report came back in 1 attempt') },
    })
  })

  test('the write of a zombie is refused, and it stops its run without another one', async () => {
    const { adapter, advance, connect } = store()
    const { flow, entered, release } = blocking()
    const runId = await enqueueFlow(adapter, flow, {})
    const deaf = overriddenAdapter(await connect(), { heartbeat: async () => ({ lost: [] }) })
    const { runner: zombie, log } = runner([flow], { adapter: deaf, sweepIntervalMs: 3_600_000, concurrency: 1 })
    await zombie.start()
    await entered.promise
    await advance(TTL_MS + 1)
    await adapter.expireOldLeases(SWEEP)
    const { definitionId } = (await adapter.readRun(runId))!
    await adapter.claimNextQueuedRun({ runnerId: 'other', leaseTtlMs: TTL_MS, definitionIds: [definitionId!] })
    const before = await eventsOf(runId)
    release.resolve()
    expect(await log.seen('run.ended')).toMatchObject({ end: 'lost' })
    expect(await eventsOf(runId)).toEqual(before)
  })

  test('a heartbeat that tells of a lost run aborts its handlers', async () => {
    const { adapter, advance, connect } = store()
    const { flow, entered, signals } = blocking()
    const runId = await enqueueFlow(adapter, flow, {})
    let isDeaf = true
    const inner = await connect()
    const halfDeaf = overriddenAdapter(inner, {
      heartbeat: async (beat) => (isDeaf ? { lost: [] } : inner.heartbeat(beat)),
    })
    const { runner: zombie, log } = runner([flow], { adapter: halfDeaf, sweepIntervalMs: 3_600_000, concurrency: 1 })
    await zombie.start()
    await entered.promise
    await advance(TTL_MS + 1)
    await adapter.expireOldLeases(SWEEP)
    isDeaf = false
    expect(await log.seen('run.lost')).toMatchObject({ runId, claimAttempts: 1 })
    expect(await log.seen('run.ended')).toMatchObject({ end: 'lost' })
    expect(signals[0]!.aborted).toBe(true)
  })
})

test('heartbeats keep a lease for as long as its run goes on', async () => {
  const { adapter, advance } = store()
  const { flow, entered, release } = blocking()
  const runId = await enqueueFlow(adapter, flow, {})
  const { runner: first, log } = runner([flow], { sweepIntervalMs: 3_600_000 })
  await first.start()
  await entered.promise
  for (let beat = 0; beat < 3; beat++) {
    await advance(TTL_MS - 1)
    const { lastHeartbeat } = (await adapter.readRun(runId))!
    await vi.waitFor(async () => expect((await adapter.readRun(runId))!.lastHeartbeat).not.toBe(lastHeartbeat), {
      timeout: 60_000,
    })
    expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
  }
  release.resolve()
  await log.seen('run.ended')
})

test('a heartbeat that fails is said and costs no run', async () => {
  const { adapter, connect } = store()
  const { flow, entered, release } = blocking()
  const runId = await enqueueFlow(adapter, flow, {})
  const silent = overriddenAdapter(await connect(), {
    heartbeat: async () => {
      throw new Error('connection reset')
    },
  })
  const { runner: first, log } = runner([flow], { adapter: silent })
  await first.start()
  await entered.promise
  expect(await log.seen('heartbeat.failed', 2)).toMatchObject({ message: 'connection reset' })
  release.resolve()
  await log.seen('run.ended')
  expect(await adapter.readRun(runId)).toMatchObject({ status: 'success' })
})

test('a run that breaks before its end is renewed no longer', async () => {
  const { adapter, connect } = store()
  const runId = await enqueueFlow(adapter, simple, { n: 1 })
  const beats: string[][] = []
  const inner = await connect()
  const refused = Object.assign(new Error('no'), { code: 'SF001' })
  const broken = overriddenAdapter(inner, {
    readEvents: async () => {
      throw refused
    },
    heartbeat: async (beat) => {
      beats.push(beat.claims.map((claim) => claim.runId))
      return inner.heartbeat(beat)
    },
  })
  const { runner: first, log } = runner([simple], { adapter: broken })
  await first.start()
  await log.seen('run.not_opened')
  const count = beats.length
  await vi.waitFor(() => expect(beats.length).toBeGreaterThan(count + 1), { timeout: 60_000 })
  expect(beats.slice(count + 1).flat()).toEqual([])
  expect(await adapter.readRun(runId)).toMatchObject({ claimState: 'claimed', leasedBy: first.runnerId })
})

test('a run whose next attempt is far holds no lease, and goes on when it is due', async () => {
  const { adapter, advance } = store()
  let attempts = 0
  const flow = new Flow({ slug: 'far' }).step({ slug: 'limited' }, () => {
    if (++attempts === 1) throw new RetryLater({ delaySeconds: 3600 })
    return attempts
  }) as unknown as Flow<never>
  const runId = await enqueueFlow(adapter, flow, {})
  const { runner: first, log } = runner([flow])
  await first.start()
  expect(await log.seen('run.ended')).toMatchObject({ end: 'released' })
  const released = (await adapter.readRun(runId))!
  expect(released).toMatchObject({ status: 'queued', claimState: 'queued', leasedBy: null, leaseUntil: null })
  await advance(3_599_000 - 60_000)
  await timer(30)
  expect(attempts).toBe(1)
  await advance(61_500)
  expect(await log.seen('run.ended', 2)).toMatchObject({ end: 'success' })
  expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', output: { limited: 2 }, claimAttempts: 2 })
})

test('a start delay is kept by the database, also over a loss of the runner', async () => {
  const { adapter, advance } = store()
  const flow = new Flow({ slug: 'delayed' }).step({ slug: 'later', startDelay: 600 }, () => 1) as unknown as Flow<never>
  const runId = await enqueueFlow(adapter, flow, {})
  const { runner: first, log } = runner([flow])
  await first.start()
  expect(await log.seen('run.ended')).toMatchObject({ end: 'released' })
  expect(await eventsOf(runId)).toEqual(['run_started', 'run_released'])
  await advance(601_000)
  expect(await log.seen('run.ended', 2)).toMatchObject({ end: 'success' })
})

test.each([-3_600_000, 3_600_000])('a computer whose clock is off by %i ms changes nothing', async (offMs) => {
  const { adapter, advance } = store()
  const realNow = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + offMs)
  try {
    let attempts = 0
    const flow = new Flow({ slug: 'skewed' }).step({ slug: 'limited' }, () => {
      if (++attempts === 1) throw new RetryLater({ delaySeconds: 60 })
      return attempts
    }) as unknown as Flow<never>
    const runId = await enqueueFlow(adapter, flow, {})
    const { runner: first, log } = runner([flow])
    await first.start()
    expect(await log.seen('run.ended')).toMatchObject({ end: 'released' })
    const { queuedAt, availableAt } = (await adapter.readRun(runId))!
    const delayMs = Date.parse(availableAt!) - Date.parse(queuedAt!)
    expect(delayMs).toBeGreaterThan(50_000)
    expect(delayMs).toBeLessThanOrEqual(60_000)
    await advance(61_000)
    expect(await log.seen('run.ended', 2)).toMatchObject({ end: 'success' })
  } finally {
    vi.restoreAllMocks()
  }
})

test('a run that is cancelled is stopped at the next heartbeat, and stays cancelled', async () => {
  const { adapter } = store()
  const { flow, entered, signals } = blocking()
  const runId = await enqueueFlow(adapter, flow, {})
  const { runner: first, log } = runner([flow])
  await first.start()
  await entered.promise
  expect(await adapter.cancelRun(runId, 'no longer needed')).toBe(true)
  expect(await log.seen('run.ended')).toMatchObject({ end: 'lost' })
  expect(signals[0]!.aborted).toBe(true)
  expect(await adapter.readRun(runId)).toMatchObject({ status: 'cancelled', claimState: 'complete' })
})

test('a failed run that is retried goes on where it stopped, with fresh attempts', async () => {
  const { adapter } = store()
  const ran: string[] = []
  let isMended = false
  const flow = new Flow<number[]>({ slug: 'mended', baseDelay: 0, maxAttempts: 1 })
    .map({ slug: 'each' }, (n) => {
      ran.push(`each ${n}`)
      if (n === 2 && !isMended) throw new Error('two')
      return n
    })
    .step({ slug: 'sum', dependsOn: ['each'] }, ({ each }) => each.length) as unknown as Flow<never>
  const runId = await enqueueFlow(adapter, flow, [1, 2])
  const { runner: first, log } = runner([flow], { mapConcurrency: 1 })
  await first.start()
  expect(await log.seen('run.ended')).toMatchObject({ end: 'error' })
  isMended = true
  expect(await adapter.retryRun(runId)).toBe(true)
  expect(await log.seen('run.ended', 2)).toMatchObject({ end: 'success' })
  expect(ran).toEqual(['each 1', 'each 2', 'each 2'])
  expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', output: { sum: 2 } })
})

describe('a drain', () => {
  test('claims nothing more and waits for what runs', async () => {
    const { adapter } = store()
    const { flow, entered, release } = blocking()
    const runId = await enqueueFlow(adapter, flow, {})
    const { runner: first, log } = runner([flow])
    await first.start()
    await entered.promise
    const drained = first.drain()
    expect(first.isReady).toBe(false)
    const later = await enqueueFlow(adapter, flow, {})
    release.resolve()
    await drained
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'success' })
    expect(await adapter.readRun(later)).toMatchObject({ status: 'queued', claimAttempts: 0 })
    expect(await log.seen('runner.stopped')).toMatchObject({ runsLeft: 0, level: 'info' })
    expect(await adapter.listRunners()).toEqual([])
  })

  test('leaves what is not done in time to the sweep', async () => {
    const { adapter, advance } = store()
    const { flow, entered, signals } = blocking()
    const runId = await enqueueFlow(adapter, flow, {})
    const { runner: first, log } = runner([flow], { sweepIntervalMs: 3_600_000 })
    await first.start()
    await entered.promise
    await first.drain(20)
    expect(signals[0]!.aborted).toBe(true)
    expect(await log.seen('runner.stopped')).toMatchObject({ runsLeft: 1, level: 'warn' })
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'running', leasedBy: first.runnerId })
    await advance(TTL_MS + 1)
    expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'requeued' }])
  })

  test('may be asked for twice, and of a runner that was never started', async () => {
    const { runner: first } = runner([simple])
    await Promise.all([first.drain(), first.drain(), first.stop()])
    const { runner: second } = runner([simple])
    await second.start()
    await Promise.all([second.stop(), second.stop()])
    expect(second.isReady).toBe(false)
  })
})

test('a run of another definition is left to runners that have it', async () => {
  const { adapter } = store()
  const older = new Flow<{ n: number }>({ slug: 'simple' }).step(
    { slug: 'double' },
    ({ n }) => n,
  ) as unknown as Flow<never>
  const runId = await enqueueFlow(adapter, older, { n: 1 })
  const { runner: first } = runner([simple])
  await first.start()
  await timer(40)
  expect(await adapter.readRun(runId)).toMatchObject({ status: 'queued', claimAttempts: 0 })
  expect(await adapter.listUnservedRuns({ limit: 10 })).toMatchObject([{ runId, reason: 'other_definition' }])
})

/** A way to a store that can be shut: then each call fails, as it does where nothing is reached. */
function shutableWay(inner: QueueingStateAdapter) {
  const way = { isShut: false, isRemote: true }
  const adapter: QueueingStateAdapter = new Proxy(inner, {
    get(target, name) {
      if (name === 'isRemote') return way.isRemote
      if (name === 'bind') return (claim: RunClaim) => shutable(target.bind(claim) as QueueingStateAdapter)
      return shutMember(target, name)
    },
  })
  const shutable = (bound: QueueingStateAdapter): QueueingStateAdapter => new Proxy(bound, { get: shutMember })
  function shutMember(target: QueueingStateAdapter, name: string | symbol) {
    const value = Reflect.get(target, name)
    if (typeof value !== 'function') return value
    return (...args: unknown[]) => (way.isShut ? Promise.reject(new Error('away')) : value.apply(target, args))
  }
  return { way, adapter }
}

test('a runner that drains says at once that it serves nothing new, and holds its run meanwhile', async () => {
  const { adapter } = store()
  const { flow, entered, release } = blocking()
  await enqueueFlow(adapter, flow, {})
  const { runner: first } = runner([flow], { heartbeatIntervalMs: 3_600_000, workspaceId: 'acme' })
  await first.start()
  await entered.promise
  await vi.waitFor(async () => {
    expect(await adapter.listRunners()).toMatchObject([{ isAccepting: true, workspaceId: 'acme' }])
  })
  const later = await enqueueFlow(adapter, flow, {})
  const drained = first.drain()
  await vi.waitFor(async () => expect(await adapter.listRunners()).toMatchObject([{ isAccepting: false, runs: 1 }]))
  expect(await adapter.listUnservedRuns({ limit: 10 })).toMatchObject([{ runId: later, reason: 'no_runner' }])
  release.resolve()
  await drained
})

describe('a store that was away for longer than a lease', () => {
  test('costs a healthy runner neither its run nor an attempt, and the result of its handler is kept', async () => {
    const { adapter, advance, connect } = store()
    const { way, adapter: shutable } = shutableWay(await connect())
    let calls = 0
    const entered = deferred()
    const release = deferred()
    const flow = new Flow({ slug: 'outlasting' }).step({ slug: 'work' }, async () => {
      calls++
      entered.resolve()
      await release.promise
      return 'made while the store was away'
    }) as unknown as Flow<never>
    const runId = await enqueueFlow(adapter, flow, {})
    const { runner: first, log } = runner([flow], { adapter: shutable, leaseTtlMs: 2000 })
    // An edge that sweeps as well, and reaches the store by the same way.
    const swept: unknown[] = []
    const failures = new EventLog<{ event: 'failed' }>()
    const edge = new LeaseSweep({
      ...{ adapter: shutable, intervalMs: 10, leaseTtlMs: 2000 },
      onSwept: (runs) => void swept.push(...runs),
      onFailure: () => failures.record({ event: 'failed' }),
    })
    await first.start()
    edge.start()
    await entered.promise
    way.isShut = true
    await log.seen('heartbeat.failed')
    await failures.seen('failed')
    await advance(TTL_MS + 1)
    release.resolve()
    await log.seen('write.retried', 2)
    way.isShut = false
    expect(await log.seen('run.ended')).toMatchObject({ end: 'success' })
    await edge.stop()
    expect(swept).toEqual([])
    expect(calls).toBe(1)
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', claimAttempts: 1 })
    expect(await eventsOf(runId)).not.toContain('runner_lost')
  })

  test('holds no runner of another lease: once it answers again, runs of runners that are gone are found', async () => {
    const { adapter, advance, connect } = store()
    const { adapter: shutable } = shutableWay(await connect())
    const runId = await enqueueFlow(adapter, simple, { n: 1 })
    const { definitionId } = (await adapter.readRun(runId))!
    await adapter.claimNextQueuedRun({ runnerId: 'dead', leaseTtlMs: TTL_MS, definitionIds: [definitionId!] })
    await advance(TTL_MS + 1)
    const { runner: next, log } = runner([simple], { adapter: shutable, leaseTtlMs: 200 })
    await next.start()
    expect(await log.seen('run.swept')).toMatchObject({ runId, outcome: 'requeued' })
    expect(await log.seen('run.ended')).toMatchObject({ end: 'success' })
  })
})

describe('a store that never answers', () => {
  const never = () => new Promise<never>(() => {})

  test.each([
    ['a claim', { claimNextQueuedRun: never }],
    ['the sweep', { expireOldLeases: never }],
    ['a heartbeat', { heartbeat: never }],
    ['the farewell', { removeRunner: never }],
  ] as const)('holds up no runner that ends: %s', async (_, hanging) => {
    const { runner: first, log } = runner([simple], { adapter: overriddenAdapter(store().adapter, hanging) })
    await first.start()
    await first.drain(0)
    expect(await log.seen('runner.stopped')).toMatchObject({ runsLeft: 0 })
  })

  test('makes a runner that waits for its claims not ready, until they are answered', async () => {
    const { adapter } = store()
    const virtual = { at: 0 }
    const clock: Clock = { ...systemClock, now: () => virtual.at }
    const held = deferred()
    let isSlow = false
    const slow = overriddenAdapter(adapter, {
      claimNextQueuedRun: async (args) => {
        if (isSlow) await held.promise
        return await adapter.claimNextQueuedRun(args)
      },
    })
    const { runner: first } = runner([simple], { adapter: slow, clock })
    await first.start()
    expect(first.isReady).toBe(true)
    isSlow = true
    await vi.waitFor(() => {
      virtual.at += 2001
      expect(first.isReady).toBe(false)
    })
    isSlow = false
    held.resolve()
    await vi.waitFor(() => expect(first.isReady).toBe(true))
  })
})
