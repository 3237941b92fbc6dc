import {
  Flow,
  NonRetryableError,
  RetryLater,
  type RunnerContext,
  type StandardSchemaV1,
  withStepQueues,
} from '@starflow/dsl'
import { describe, expect, test, vi } from 'vitest'
import { NullWorkflowStateAdapter } from '../src/adapters/null/index.ts'
import { Engine, type EngineOptions } from '../src/engine/engine.ts'
import type { RunEventType } from '../src/run-record.ts'
import { useStore } from './conformance/adapter-factory.ts'
import { SWEEP, TTL_MS } from './conformance/run-fixture.ts'
import { deferred } from './support/deferred.ts'
import { localStores } from './support/local-store.ts'

const store = useStore(localStores)
const engine = (options: Partial<EngineOptions> = {}) => new Engine({ adapter: store().adapter, ...options })
const eventsOf = async (runId: string) =>
  (await store().adapter.readEvents(runId)).map(({ type, nodeId }) => (nodeId === null ? type : `${type} ${nodeId}`))

const quick = { baseDelay: 0 } as const

test('a run of parallel steps ends with the outputs of its leaves', async () => {
  const flow = new Flow<{ n: number }>({ slug: 'sums' })
    .step({ slug: 'double' }, ({ n }) => n * 2)
    .step({ slug: 'square' }, ({ n }) => n * n)
    .step({ slug: 'sum', dependsOn: ['double', 'square'] }, ({ double, square }) => double + square)
    .step({ slug: 'same', dependsOn: ['double'] }, async ({ double }, ctx) => [double, (await ctx.flowInput).n])
  const result = await engine().run(flow, { n: 3 })
  expect(result).toMatchObject({ end: 'success', output: { sum: 15, same: [6, 3] } })
  const run = await store().adapter.readRun(result.runId)
  expect(run).toMatchObject({
    status: 'success',
    claimState: 'complete',
    leasedBy: null,
    output: { sum: 15, same: [6, 3] },
  })
})

test('a flow of another library is refused before anything is written, one of a second copy of @starflow/dsl runs', async () => {
  class OtherFlow {
    slug = 'orders'
    stepOrder = ['pay']
    getStepDefinition() {}
  }
  await expect(engine().run(new OtherFlow() as never, null as never)).rejects.toMatchObject({
    code: 'SF122',
    message: 'The engine was given a flow that the Flow class of @starflow/dsl did not make: "orders".',
  })
  const queued = withStepQueues(new Flow({ slug: 'queued' }).step({ slug: 'one' }, () => 1))
  await expect(engine().run(queued as never, null as never)).rejects.toMatchObject({
    code: 'SF001',
    hint: 'Pass what `new Flow({ slug: … }).step(…)` returns. A step-queued flow has it as `flow`.',
  })
  vi.resetModules()
  const copy = await import('@starflow/dsl')
  expect(copy.Flow).not.toBe(Flow)
  const theirs = new copy.Flow<number>({ slug: 'theirs' }).step({ slug: 'half' }, (n) => n / 2)
  expect((await engine().run(theirs, 4)).output).toEqual({ half: 2 })
})

test('a run that is cancelled while it runs aborts the signal of its handlers, and is lost to its engine', async () => {
  const begun = deferred()
  let reason: unknown
  const flow = new Flow({ slug: 'cancelled' }).step({ slug: 'work', timeout: 3600 }, async (_, ctx) => {
    begun.resolve()
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    reason = ctx.signal.reason
  })
  const runId = crypto.randomUUID()
  const ended = engine({ leaseTtlMs: 300 }).run(flow, {}, { runId })
  await begun.promise
  await store().adapter.cancelRun(runId, 'a mistake')
  expect(await ended).toMatchObject({ end: 'lost', output: null })
  expect(reason).toBeInstanceOf(Error)
  expect(await store().adapter.readRun(runId)).toMatchObject({ status: 'cancelled' })
})

test('parallel steps run at the same time', async () => {
  const bothRun = deferred()
  let running = 0
  const meet = async () => {
    running++
    if (running === 2) bothRun.resolve()
    await bothRun.promise
    return running
  }
  const flow = new Flow({ slug: 'meeting' }).step({ slug: 'a' }, meet).step({ slug: 'b' }, meet)
  expect((await engine().run(flow, {})).output).toEqual({ a: 2, b: 2 })
})

test('a map runs at most as many elements at once as it is allowed, and keeps their order', async () => {
  let running = 0
  let most = 0
  const flow = new Flow<number[]>({ slug: 'mapped' }).map({ slug: 'tenfold' }, async (n) => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, n % 3))
    running--
    return n * 10
  })
  const input = Array.from({ length: 40 }, (_, n) => n)
  const { output } = await engine({ mapConcurrency: 4 }).run(flow, input)
  expect(output).toEqual({ tenfold: input.map((n) => n * 10) })
  expect(most).toBe(4)
})

test('ten elements of a map run at once when nothing else is said', async () => {
  let running = 0
  let most = 0
  const flow = new Flow<number[]>({ slug: 'mapped' }).map({ slug: 'each' }, async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 1))
    running--
  })
  await engine().run(flow, new Array<number>(30).fill(1))
  expect(most).toBe(10)
})

test('a map over nothing gives nothing, and over null elements as many nulls', async () => {
  const flow = new Flow<(number | null)[]>({ slug: 'nothing' })
    .map({ slug: 'each' }, (element) => element)
    .map({ slug: 'again', array: 'each' }, (element) => element)
  expect((await engine().run(flow, [])).output).toEqual({ again: [] })
  expect((await engine().run(flow, [null, 1, null])).output).toEqual({ again: [null, 1, null] })
})

test('falsy outputs stay what they are, and nothing becomes null', async () => {
  const flow = new Flow({ slug: 'falsy' })
    .step({ slug: 'zero' }, () => 0)
    .step({ slug: 'no' }, () => false)
    .step({ slug: 'empty' }, () => '')
    .step({ slug: 'nothing' }, () => undefined)
  expect((await engine().run(flow, {})).output).toEqual({ zero: 0, no: false, empty: '', nothing: null })
})

test('a handler that changes its input changes it for nobody else', async () => {
  const flow = new Flow<{ list: number[] }>({ slug: 'changed' })
    .step({ slug: 'make' }, ({ list }) => ({ list }))
    .step({ slug: 'first', dependsOn: ['make'] }, ({ make }) => make.list.push(9))
    .step({ slug: 'second', dependsOn: ['make', 'first'] }, ({ make }) => make.list)
  expect((await engine().run(flow, { list: [1] })).output).toEqual({ second: [1] })
})

test('a step below a skipped one gets the others; one below a cascade is skipped with it', async () => {
  const flow = new Flow<{ kind: string }>({ slug: 'skips' })
    .step({ slug: 'plain', if: { kind: 'x' } }, () => 1)
    .step({ slug: 'cascading', if: { kind: 'x' }, whenUnmet: 'skip-cascade' }, () => 1)
    .step({ slug: 'other' }, () => 2)
    .step({ slug: 'below', dependsOn: ['plain', 'other'] }, (outputs) => Object.keys(outputs))
    .array({ slug: 'gone', dependsOn: ['cascading', 'other'] }, () => [3])
    .map({ slug: 'overNothing', array: 'gone' }, () => 4)
  const result = await engine().run(flow, { kind: 'y' })
  expect(result).toMatchObject({ end: 'success', output: { below: ['other'] } })
  const events = await store().adapter.readEvents(result.runId)
  expect(events.filter((event) => event.type === 'node_skip').map(({ nodeId, payload }) => [nodeId, payload])).toEqual([
    ['plain', { reason: 'condition_unmet' }],
    ['cascading', { reason: 'condition_unmet' }],
    ['gone', { reason: 'dependency_skipped' }],
    ['overNothing', { reason: 'dependency_skipped' }],
  ])
})

test('a condition that must hold fails the run, and its step runs nothing', async () => {
  const flow = new Flow<{ ok: boolean }>({ slug: 'must' }).step(
    { slug: 'only', if: { ok: true }, whenUnmet: 'fail' },
    () => 1,
  )
  const result = await engine().run(flow, { ok: false })
  expect(result).toMatchObject({ end: 'error', failure: { code: 'SF812', message: 'Condition not met' } })
  expect(await eventsOf(result.runId)).toEqual(['run_started', 'node_error only', 'run_failed'])
})

test('a step that feeds a map and returns no array fails the run, whatever its modes say', async () => {
  const flow = new Flow({ slug: 'violation' })
    .array({ slug: 'list', whenExhausted: 'skip' }, () => ({ not: 'a list' }) as unknown as number[])
    .map({ slug: 'each', array: 'list' }, (n) => n)
  expect(await engine().run(flow, {})).toMatchObject({
    end: 'error',
    failure: {
      code: 'SF811',
      message: '[TYPE_VIOLATION] Step "list" feeds a map and must return an array, but returned object',
    },
  })
})

test('a map over an input that is no array fails the run', async () => {
  const flow = new Flow<number[]>({ slug: 'rootMap' }).map({ slug: 'each' }, (n) => n)
  expect(await engine().run(flow, { not: 'a list' } as unknown as number[])).toMatchObject({
    end: 'error',
    failure: { code: 'SF811', message: 'Flow rootMap has root map steps but input is not an array (got object)' },
  })
})

test('an attempt that fails is followed by another while there are some', async () => {
  let attempts = 0
  const flow = new Flow({ slug: 'again', ...quick, maxAttempts: 3 }).step({ slug: 'flaky' }, (_, ctx) => {
    if (++attempts < 3) throw new Error(`attempt ${attempts}`)
    return ctx.stepTask.attempt
  })
  const result = await engine().run(flow, {})
  expect(result).toMatchObject({ end: 'success', output: { flaky: 3 } })
  expect(await eventsOf(result.runId)).toEqual([
    ...['run_started', 'node_start flaky', 'node_retry flaky', 'node_start flaky', 'node_retry flaky'],
    ...['node_start flaky', 'node_complete flaky', 'run_completed'],
  ])
})

test.each([
  [0, 1],
  [1, 1],
  [2, 2],
])('with maxAttempts %i a step that always fails runs %i times', async (maxAttempts, expected) => {
  let attempts = 0
  const flow = new Flow({ slug: 'never', ...quick, maxAttempts }).step({ slug: 'broken' }, () => {
    attempts++
    throw new TypeError('always')
  })
  expect(await engine().run(flow, {})).toMatchObject({
    end: 'error',
    failure: { name: 'TypeError', message: 'always' },
  })
  expect(attempts).toBe(expected)
})

test('an error that is permanent is followed by no attempt', async () => {
  let attempts = 0
  const flow = new Flow({ slug: 'permanent', ...quick, maxAttempts: 5 }).step({ slug: 'broken' }, () => {
    attempts++
    throw new NonRetryableError('no such user')
  })
  expect((await engine().run(flow, {})).failure?.message).toBe('no such user')
  expect(attempts).toBe(1)
})

test('a handler that chooses its delay is followed after that, not after the delay of its step', async () => {
  let attempts = 0
  const flow = new Flow({ slug: 'later', baseDelay: 3600 }).step({ slug: 'limited' }, () => {
    if (++attempts === 1) throw new RetryLater({ delaySeconds: 0 })
    return attempts
  })
  expect((await engine().run(flow, {})).output).toEqual({ limited: 2 })
})

test('a step whose attempts are used up is skipped where it may be, and its siblings with it', async () => {
  const flow = new Flow<number[]>({ slug: 'exhausted', ...quick, maxAttempts: 1 })
    .map({ slug: 'each', whenExhausted: 'skip' }, (n) => {
      if (n === 2) throw new Error('two')
      return n
    })
    .step({ slug: 'after', dependsOn: ['each'] }, ({ each }) => each ?? 'nothing')
  const result = await engine({ mapConcurrency: 1 }).run(flow, [1, 2, 3])
  expect(result).toMatchObject({ end: 'success', output: { after: 'nothing' } })
  const events = await eventsOf(result.runId)
  expect(events).toContain('node_skip each')
  expect(events).not.toContain('node_start each[2]')
})

test('when a run fails, what still runs is aborted and its outcome kept nowhere', async () => {
  const aborted = deferred()
  const flow = new Flow({ slug: 'fails', ...quick, maxAttempts: 1 })
    .step({ slug: 'slow' }, async (_, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.resolve()
      return 'late'
    })
    .step({ slug: 'broken' }, () => {
      throw new Error('broken')
    })
  const result = await engine().run(flow, {})
  await aborted.promise
  expect(result.end).toBe('error')
  expect(await eventsOf(result.runId)).not.toContain('node_complete slow')
})

test('a handler that outlives its timeout fails its attempt, its signal is aborted, and it may be abandoned', async () => {
  const events: string[] = []
  const flow = new Flow({ slug: 'timeouts', ...quick, maxAttempts: 1 }).step(
    { slug: 'endless', timeout: 1 },
    (_, ctx) => {
      ctx.signal.addEventListener('abort', () => events.push('aborted'))
      return new Promise<void>(() => {})
    },
  )
  const result = await engine({ onEvent: (event) => events.push(event.event) }).run(flow, {})
  expect(result).toMatchObject({ end: 'error', failure: { code: 'SF407' } })
  expect(events).toEqual(['run.started', 'aborted', 'node.abandoned', 'node.failed', 'run.ended'])
})

test('an output that JSON cannot hold fails its attempt and says where it is', async () => {
  const flow = new Flow({ slug: 'big', ...quick, maxAttempts: 1 }).step({ slug: 'count' }, () => ({ n: 1n }) as never)
  expect((await engine().run(flow, {})).failure).toMatchObject({
    code: 'SF304',
    message: expect.stringContaining('$.n is a BigInt; make it a string.'),
  })
})

test('whatever a handler throws fails its attempt, a proxy whose every trap throws too', async () => {
  const trap = () => {
    throw new Error('trapped')
  }
  const hostile = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap })
  for (const thrown of [hostile, undefined, Symbol('x'), Object.create(null)]) {
    const flow = new Flow({ slug: 'throws', maxAttempts: 1 }).step({ slug: 'odd' }, () => {
      throw thrown
    })
    const { end, failure } = await engine().run(flow, {})
    expect({ end, message: failure?.message }).toEqual({
      end: 'error',
      message: expect.stringMatching(/handler threw/),
    })
  }
})

describe('an input that the schema refuses', () => {
  const schema: StandardSchemaV1<{ n: number }> = {
    '~standard': {
      ...{ version: 1, vendor: 'test' },
      validate: (value) =>
        typeof (value as { n: unknown }).n === 'number'
          ? { value: value as { n: number } }
          : { issues: [{ message: 'not a number', path: ['n'] }] },
    },
  }
  const wrong = { n: 'one' } as unknown as { n: number }
  const message = 'The input does not match the schema of flow "checked": $.n: not a number'
  const called: string[] = []

  test('fails the first root step for good, before its handler, as on workers', async () => {
    const flow = new Flow({ slug: 'checked', input: schema }).step({ slug: 'a' }, ({ n }) => called.push(String(n)))
    const result = await engine().run(flow, wrong)
    expect(result).toMatchObject({ end: 'error', failure: { name: 'NonRetryableError', message } })
    expect(await eventsOf(result.runId)).toEqual(['run_started', 'node_start a', 'node_error a', 'run_failed'])
    expect(called).toEqual([])
  })

  test('is what whenExhausted says of a failed step, and is asked for once', async () => {
    let asked = 0
    const counting: typeof schema = {
      '~standard': {
        ...schema['~standard'],
        validate: (value) => {
          asked++
          return schema['~standard'].validate(value)
        },
      },
    }
    const flow = new Flow({ slug: 'checked', input: counting })
      .step({ slug: 'a', whenExhausted: 'skip' }, ({ n }) => called.push(String(n)))
      .step({ slug: 'b', whenExhausted: 'skip' }, ({ n }) => called.push(String(n)))
      .step({ slug: 'rest', dependsOn: ['a', 'b'] }, ({ a, b }) => [a ?? 'nothing', b ?? 'nothing'])
    expect(await engine().run(flow, wrong)).toMatchObject({ end: 'success', output: { rest: ['nothing', 'nothing'] } })
    expect(called).toEqual([])
    expect(asked).toBe(1)
  })
})

test('a flow without steps succeeds with nothing', async () => {
  expect(await engine().run(new Flow({ slug: 'empty' }), {})).toMatchObject({ end: 'success', output: {} })
})

test('without anything that keeps runs, a run is executed all the same', async () => {
  const flow = new Flow<number[]>({ slug: 'unkept', ...quick })
    .map({ slug: 'each' }, (n, ctx) => {
      if (n === 2 && ctx.stepTask.attempt === 1) throw new Error('once')
      return n
    })
    .step({ slug: 'sum', dependsOn: ['each'] }, ({ each }) => each.length)
  const adapter = new NullWorkflowStateAdapter()
  expect(await new Engine({ adapter }).run(flow, [1, 2, 3])).toMatchObject({ end: 'success', output: { sum: 3 } })
})

test('a transactional step is refused, and nothing is started', async () => {
  const flow = new Flow({ slug: 'inTransaction' }).step({ slug: 'pay', transactional: true }, () => 1)
  const runId = '019b0000-0000-7000-8000-000000000001'
  await expect(engine().run(flow, {}, { runId })).rejects.toMatchObject({ code: 'SF817' })
  expect(await store().adapter.readRun(runId)).toBeNull()
})

test('a run that was cut off goes on under its id, by its definition and no other', async () => {
  const runId = '019b0000-0000-7000-8000-000000000002'
  const ran: string[] = []
  const flow = new Flow<number>({ slug: 'cutOff' })
    .step({ slug: 'first' }, (n) => {
      ran.push('first')
      return n
    })
    .step({ slug: 'second', dependsOn: ['first'] }, ({ first }) => first + 1)
  const { adapter, advance } = store()
  const { definitionId } = await engine().serve(flow)
  await adapter.onRunStart(runId, {
    templateId: 'cutOff',
    workspaceId: 'celestial',
    env: 'prod',
    input: 1,
    definitionId,
  })
  const dead = adapter.bind(await adapter.writeLease(runId, 'dead', TTL_MS))
  await dead.onNodeStart(runId, 'first', { attempt: 1 })
  await dead.onNodeComplete(runId, 'first', 1)
  await advance(TTL_MS + 1)
  await adapter.expireOldLeases(SWEEP)

  const other = new Flow<number>({ slug: 'cutOff' }).step({ slug: 'other' }, (n) => n)
  await expect(engine().run(other, 1, { runId })).rejects.toMatchObject({ code: 'SF818' })
  expect(await engine().run(flow, 1, { runId })).toMatchObject({ end: 'success', output: { second: 2 } })
  expect(ran).toEqual([])
})

test('variables, phases and sessions are kept when the call of them has settled', async () => {
  const flow = new Flow<object, RunnerContext>({ slug: 'author' })
    .step({ slug: 'write' }, async (_, ctx) => {
      await ctx.phase('writing')
      await ctx.phase('writing')
      await ctx.variables.set('author', { name: 'Ada' })
      await ctx.session.set('draft', 1)
      await ctx.session.in('team').set('seen', [1], { keepUntil: new Date(Date.now() + 60_000) })
      await ctx.progress({ percent: 50 })
    })
    .step({ slug: 'read', dependsOn: ['write'] }, async (_, ctx) => [
      ctx.variables.get('author'),
      ctx.variables.get('nobody'),
      await ctx.session.get('draft'),
      await ctx.session.in('team').get('seen'),
    ])
  const first = await engine().run(flow, {})
  expect(first.output).toEqual({ read: [{ name: 'Ada' }, null, 1, [1]] })
  const kinds = (await store().adapter.readEvents(first.runId)).map((event) => event.type)
  expect(kinds.filter((type: RunEventType) => type === 'phase' || type === 'variable')).toEqual(['phase', 'variable'])

  const reader = new Flow<object, RunnerContext>({ slug: 'reader' }).step({ slug: 'read' }, async (_, ctx) => [
    await ctx.session.in('team').get('seen'),
    await ctx.session.in('draft').get('draft'),
  ])
  expect((await engine().run(reader, {})).output).toEqual({ read: [[1], null] })
  expect((await engine().run(reader, {}, { workspaceId: 'other' })).output).toEqual({ read: [null, null] })
})

test('session steps hand a value from one run to the next', async () => {
  const flow = new Flow<{ at: number }>({ slug: 'visits' })
    .sessionRead({ slug: 'last', key: 'at', session: 'visits' })
    .step({ slug: 'now' }, ({ at }) => at)
    .sessionWrite(
      { slug: 'keep', dependsOn: ['last', 'now'], key: 'at', session: 'visits', keepFor: 60 },
      ({ now }) => now,
    )
    .step({ slug: 'both', dependsOn: ['last', 'keep'] }, (outputs) => outputs)
  expect((await engine().run(flow, { at: 1 })).output).toEqual({ both: { last: null, keep: 1 } })
  expect((await engine().run(flow, { at: 2 })).output).toEqual({ both: { last: 1, keep: 2 } })
})

test('a variable of the engine is refused', async () => {
  const flow = new Flow<object, RunnerContext>({ slug: 'reserved', maxAttempts: 1 }).step({ slug: 'a' }, (_, ctx) =>
    ctx.variables.set('__celestialWait', 1),
  )
  expect((await engine().run(flow, {})).failure?.code).toBe('SF815')
})

test('what a runner does not have is refused when it is read, and what it was given is there', async () => {
  const flow = new Flow({ slug: 'context', maxAttempts: 1 })
    .step({ slug: 'given' }, (_, ctx) => [ctx.env.HOME, Object.keys({ ...ctx }).includes('rawMessage')])
    .step({ slug: 'missing', dependsOn: ['given'] }, (_, ctx) => ctx.rawMessage.msg_id)
  expect((await engine({ env: { HOME: '/x' } }).run(flow, {})).failure).toMatchObject({
    code: 'SF816',
    message: expect.stringContaining('ctx.rawMessage is not there: a run on a runner has no queue.'),
  })
})

test('the seam of schedules: one task at a time, in the order that is picked', async () => {
  const order: string[] = []
  const flow = new Flow<number[]>({ slug: 'picked' })
    .map({ slug: 'each' }, (n) => void order.push(`each ${n}`))
    .step({ slug: 'other' }, () => void order.push('other'))
  await engine({ runConcurrency: 1, pick: (tasks) => tasks.at(-1)! }).run(flow, [1, 2, 3])
  expect(order).toEqual(['other', 'each 3', 'each 2', 'each 1'])
})

test('a run that is drained ends what is under way, starts nothing more, and goes on from there later', async () => {
  const drain = new AbortController()
  const began = deferred()
  const mayEnd = deferred()
  const ran: string[] = []
  const flow = new Flow<number>({ slug: 'drained' })
    .step({ slug: 'first' }, async (n) => {
      ran.push('first')
      began.resolve()
      await mayEnd.promise
      return n
    })
    .step({ slug: 'second', dependsOn: ['first'] }, ({ first }) => {
      ran.push('second')
      return first + 1
    })
  const runId = '019b0000-0000-7000-8000-000000000003'
  const run = engine().run(flow, 1, { runId, drainSignal: drain.signal })
  await began.promise
  drain.abort()
  mayEnd.resolve()
  expect(await run).toMatchObject({ end: 'released' })
  expect(await store().adapter.readRun(runId)).toMatchObject({ status: 'queued', claimState: 'queued', leasedBy: null })
  expect(ran).toEqual(['first'])

  expect(await engine().run(flow, 1, { runId })).toMatchObject({ end: 'success', output: { second: 2 } })
  expect(ran).toEqual(['first', 'second'])
})

test('each attempt has a ctx.sql of its own, which is taken back when it ends, however it ends', async () => {
  const told: string[] = []
  const lendSql = (signal: AbortSignal) => {
    const name = `client ${told.filter((line) => line.startsWith('lent')).length + 1}`
    told.push(`lent ${name}${signal.aborted ? ', over' : ''}`)
    return { sql: { name }, giveBack: () => told.push(`back ${name}`) }
  }
  const flow = new Flow({ slug: 'lends', ...quick }).step({ slug: 'work' }, (_, ctx) => {
    told.push(`used ${(ctx.sql as unknown as { name: string }).name}`)
    if (ctx.stepTask.attempt === 1) throw new Error('not yet')
    return 1
  })
  expect(await engine({ lendSql }).run(flow, {})).toMatchObject({ end: 'success' })
  expect(told).toEqual([
    ...['lent client 1', 'used client 1', 'back client 1'],
    ...['lent client 2', 'used client 2', 'back client 2'],
  ])
})
