import { Flow, NonRetryableError, withStepQueues } from '@starflow/dsl'
import { isStarflowError } from '@starflow/errors'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeSql } from '../tests/support/fake-sql.ts'
import { type TestPlatformOptions, testPlatform } from '../tests/support/test-platform.ts'
import type { WorkerEvent } from './events.ts'
import { subscriptionOf } from './subscription.ts'
import { type FlowQueueConfig, resolveWorkerConfig } from './worker-config.ts'
import { WorkerFunction } from './worker-function.ts'

const ENV = { SUPABASE_DB_URL: 'postgres://nobody@localhost:1/none', STARFLOW_AUTH_SECRET: 's3cret' }

type Handler = (input: unknown, context: Record<string, unknown>) => unknown

function flowOf(handler: Handler = () => 'packed', slug = 'orders') {
  return new Flow({ slug }).step({ slug: 'pack' }, handler as () => string)
}

const functions: WorkerFunction[] = []
afterEach(async () => {
  // Endless handlers get their grace from a clock that runs by itself.
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const stopped = Promise.all(functions.splice(0).map((workerFunction) => workerFunction.stop()))
  await vi.advanceTimersByTimeAsync(20_000)
  await stopped
  vi.useRealTimers()
})

function setUp(options: { handler?: Handler; config?: FlowQueueConfig; platform?: TestPlatformOptions } = {}) {
  const platform = testPlatform({ env: ENV, ...options.platform })
  const sql = new FakeSql()
  const events: WorkerEvent[] = []
  let ids = 0
  const workerFunction = new WorkerFunction({
    platform,
    connect: () => sql,
    logger: (event) => events.push(event),
    newWorkerId: () => `worker-${++ids}`,
  })
  functions.push(workerFunction)
  const { settings, connection } = resolveWorkerConfig(options.config)
  workerFunction.add(subscriptionOf(withStepQueues(flowOf(options.handler)), 'pack'), settings, connection)
  const ask = async (path = '/orders__pack'): Promise<Record<string, unknown>> => {
    const response = await platform.request(path, { secret: 's3cret' })
    return { http: response.status, ...((await response.json()) as Record<string, unknown>) }
  }
  const eventNames = () => events.map(({ event }) => event)
  return { platform, sql, events, eventNames, workerFunction, ask }
}

describe('WorkerFunction, asked over HTTP', () => {
  it('starts with the first authorised request, and then is running', async () => {
    const { ask, sql } = setUp()
    const first = { http: 200, status: 'started', workerId: 'worker-1', functionName: 'orders__pack' }
    expect(await ask()).toEqual(first)
    expect(await ask()).toEqual({ ...first, status: 'running' })
    expect(sql.calls.filter((call) => call === 'registerWorker')).toHaveLength(1)
  })

  it('starts one worker for two requests at once', async () => {
    const { ask, sql } = setUp()
    expect((await Promise.all([ask(), ask()])).map(({ workerId }) => workerId)).toEqual(['worker-1', 'worker-1'])
    expect(sql.calls.filter((call) => call === 'registerWorker')).toHaveLength(1)
  })

  it('tells an unauthorised caller nothing, and does nothing for it', async () => {
    const { platform, sql } = setUp()
    const response = await platform.request('/orders__pack', { secret: 'wrong' })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ message: 'Unauthorized' })
    expect(sql.calls).toEqual([])
  })

  it('takes its name from the first segment of the path', async () => {
    const { ask, sql } = setUp()
    expect((await ask('/orders__pack/health')).functionName).toBe('orders__pack')
    expect(sql.registered?.functionName).toBe('orders__pack')
  })

  it('registers nothing for a path without a name', async () => {
    const { ask, sql } = setUp()
    expect((await ask('/')).http).toBe(400)
    expect(sql.calls).toEqual([])
  })

  it('registers for the persisted queue, not for the one this code derives', async () => {
    const { ask, sql } = setUp()
    await ask()
    expect(sql.registered?.queueName).toBe('persisted_queue')
    await sql.until(({ claims }) => claims.length > 0)
    expect(sql.claims[0]).toMatchObject({ queueName: 'persisted_queue', stepSlug: 'pack', flowSlug: 'orders' })
  })

  it('registers its workers as of one isolate: the one that the host names, or one of its own', async () => {
    const executionId = '0b1d3c5e-7f90-4a1b-8c2d-3e4f5a6b7c8d'
    const named = setUp({ platform: { env: { ...ENV, SB_EXECUTION_ID: executionId } } })
    await named.ask()
    expect(named.sql.registered?.executionId).toBe(executionId)

    const unnamed = setUp({ platform: { env: { ...ENV, SB_EXECUTION_ID: 'no uuid' } } })
    const other = resolveWorkerConfig()
    unnamed.workerFunction.add(
      subscriptionOf(withStepQueues(flowOf(undefined, 'returns')), 'pack'),
      other.settings,
      other.connection,
    )
    const places: unknown[] = []
    const register = unnamed.sql.registerWorker.bind(unnamed.sql)
    unnamed.sql.registerWorker = (worker) => {
      places.push(worker.executionId)
      return register(worker)
    }
    await unnamed.ask()
    expect(places).toEqual([places[0], places[0]])
    expect(places[0]).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('tells at its end how many tasks it has ended, with its CPU where it can measure that, before it has stopped', async () => {
    const { ask, sql, workerFunction } = setUp({ platform: { cpuMs: () => 7.5 } })
    sql.enqueue(3)
    await ask()
    await sql.until(({ reports }) => reports.length === 3)
    await workerFunction.stop()
    expect(sql.usages).toEqual([{ tasks: 3, cpuMs: 7.5 }])
    expect(sql.calls.slice(-2)).toEqual(['reportUsage', 'markWorkerStopped'])
  })

  it('answers fenced while the function is disabled, claims nothing, and tries again under the same id at the next request', async () => {
    const { ask, sql, eventNames } = setUp()
    sql.workerState = 'fenced'
    expect(await ask()).toMatchObject({ http: 200, status: 'fenced' })
    expect(sql.calls).toEqual(['ensureFlowCompiled', 'registerWorker', 'markWorkerStopped'])
    expect(eventNames()).toContain('worker.fenced')
    sql.workerState = 'running'
    expect(await ask()).toMatchObject({ status: 'started', workerId: 'worker-1' })
  })

  it('answers stopping while a deprecated worker drains, and replaces it when it has stopped', async () => {
    let finish = () => {}
    const { ask, sql, platform } = setUp({ handler: () => new Promise<void>((resolve) => (finish = resolve)) })
    sql.enqueue(1)
    await ask()
    await sql.until(({ queue }) => queue.length === 0)
    sql.workerState = 'deprecated'
    sql.enqueue(1)
    await sql.until(({ claims }) => claims.length > 1)
    expect(await ask()).toMatchObject({ http: 503, status: 'stopping' })
    finish()
    await platform.settled()
    expect(sql.calls.at(-1)).toBe('markWorkerStopped')
    expect(sql.reports).toHaveLength(1)
    sql.workerState = 'running'
    expect(await ask()).toMatchObject({ status: 'started', workerId: 'worker-2' })
  })
})

describe('WorkerFunction, failing to start', () => {
  it('refuses another shape, registers nothing, reports it, and tries again', async () => {
    const { ask, sql, eventNames } = setUp()
    sql.compileAnswers = [
      { status: 'mismatch', mismatchKind: 'shape', differences: ['Step "pack" was added.'] },
      { status: 'verified' },
    ]
    expect(await ask()).toMatchObject({
      http: 500,
      status: 'failed',
      code: 'SF108',
      detail: 'Step "pack" was added.',
      hint: expect.stringContaining('use a new concrete slug'),
    })
    expect(sql.calls).toEqual(['ensureFlowCompiled', 'reportStartFailure'])
    expect(sql.startFailures[0]).toMatch(/^SF108: .* Step "pack" was added\./)
    expect(eventNames()).toContain('worker.start_failed')
    expect(await ask()).toMatchObject({ status: 'started', workerId: 'worker-2' })
  })

  it('calls a routing mismatch by its own name', async () => {
    const { ask, sql } = setUp()
    sql.compileAnswers = [{ status: 'mismatch', mismatchKind: 'routing', differences: [] }]
    expect(await ask()).toMatchObject({ http: 500, code: 'SF109' })
  })

  it('waits for the old workers of a recompilation every 500 ms, up to 15 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { ask, sql } = setUp()
    sql.compileAnswers = [{ status: 'draining' }]
    const answer = ask()
    await vi.waitFor(() => expect(sql.compiles).toHaveLength(1), { timeout: 60_000 })
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await answer).toMatchObject({ http: 500, code: 'SF405' })
    expect(sql.compiles).toHaveLength(31)
  })

  it('names a database that is not migrated', async () => {
    const { ask, sql } = setUp()
    sql.ensureFlowCompiled = () =>
      Promise.reject(Object.assign(new Error('schema "pgflow" does not exist'), { code: '3F000' }))
    expect(await ask()).toMatchObject({ http: 500, code: 'SF403', detail: 'schema "pgflow" does not exist' })
  })

  it('names all missing variables', async () => {
    const { workerFunction } = setUp({ platform: { env: { STARFLOW_AUTH_SECRET: 's3cret' } } })
    const request = new Request('http://localhost/orders__pack', { headers: { apikey: 's3cret' } })
    const response = await workerFunction.handle(request)
    expect(await response.json()).toMatchObject({
      code: 'SF002',
      message: 'Missing environment variable: SUPABASE_DB_URL.',
    })
  })

  it('logs at once all that is missing, since nobody can start it', () => {
    const { events } = setUp({ platform: { env: {} } })
    expect(events[0]).toMatchObject({
      level: 'error',
      event: 'function.unusable',
      code: 'SF002',
      message: 'Missing environment variables: SUPABASE_DB_URL, STARFLOW_AUTH_SECRET.',
    })
  })

  it('tells its log of refused requests, once a minute, without what they presented', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { platform, events } = setUp()
    const refusals = () => events.filter(({ event }) => event === 'request.unauthorised')
    for (let count = 0; count < 3; count++) await platform.request('/orders__pack', { secret: 'wrong one' })
    expect(refusals()).toEqual([
      expect.objectContaining({ code: 'SF417', requests: 1, message: expect.stringContaining('STARFLOW_AUTH_SECRET') }),
    ])
    vi.advanceTimersByTime(60_000)
    await platform.request('/orders__pack', { secret: 'wrong one' })
    expect(refusals()).toHaveLength(2)
    expect(refusals()[1]).toMatchObject({ requests: 3 })
    expect(JSON.stringify(events)).not.toMatch(/wrong one|s3cret/)
  })

  it('refuses a second worker for one queue', () => {
    const { workerFunction } = setUp()
    const { settings, connection } = resolveWorkerConfig()
    try {
      workerFunction.add(subscriptionOf(withStepQueues(flowOf()), 'pack'), settings, connection)
      expect.unreachable()
    } catch (error) {
      expect(isStarflowError(error, 'SF402')).toBe(true)
    }
  })
})

describe('WorkerFunction, at the limits of its host', () => {
  beforeEach(() => void vi.useFakeTimers())

  it('claims during the first half of the wall clock, then makes room for a fresh worker', async () => {
    let age = 0
    const { ask, sql, events } = setUp({ platform: { wallClockMs: 150_000, ageMs: () => age } })
    await ask()
    await vi.advanceTimersByTimeAsync(74_999)
    expect(sql.calls).not.toContain('deprecateWorker')
    await vi.advanceTimersByTimeAsync(1)
    age = 75_000
    expect(events).toContainEqual(expect.objectContaining({ event: 'worker.deprecated', reason: 'wall_clock' }))
    expect(sql.calls).toContain('deprecateWorker')
    await vi.advanceTimersByTimeAsync(10)
    expect(sql.calls.at(-1)).toBe('markWorkerStopped')
    expect(await ask()).toMatchObject({ http: 503, status: 'stopping' })
    const claims = sql.claims.length
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sql.claims).toHaveLength(claims)
  })

  it('says again with the heartbeat what it could not say at half of its life', async () => {
    const { ask, sql } = setUp({
      platform: { wallClockMs: 120_000, ageMs: () => 0 },
      handler: () => new Promise(() => {}),
    })
    sql.enqueue(1, { timeoutSeconds: 1000 })
    const deprecateWorker = sql.deprecateWorker.bind(sql)
    let failures = 0
    sql.deprecateWorker = async () => {
      sql.deprecateWorker = deprecateWorker
      failures++
      throw new Error('down')
    }
    await ask()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(failures).toBe(1)
    await vi.advanceTimersByTimeAsync(5000)
    expect(sql.calls).toContain('deprecateWorker')
  })

  it('gives handlers 5 s after the signal, claims nothing more, and marks itself stopped last', async () => {
    const { ask, sql, platform, events } = setUp({
      handler: (_input, context) => {
        const { task_index } = context.stepTask as { task_index: number }
        if (task_index === 0) return new Promise((resolve) => setTimeout(resolve, 4000, 'in time'))
        if (task_index === 1) return new Promise(() => {})
        return new Promise((_resolve, reject) => {
          const signal = context.shutdownSignal as AbortSignal
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      },
    })
    for (const taskIndex of [0, 1, 2]) sql.enqueue(1, { taskIndex, runId: 'run' })
    await ask()
    await vi.advanceTimersByTimeAsync(10)
    sql.enqueue(5)
    const claimed = () => sql.claims.filter(({ qty }) => qty > 0)
    const claims = claimed().length
    platform.shutDown('wall_clock')
    expect(await ask()).toMatchObject({ http: 503, status: 'stopping' })
    expect(sql.calls).toContain('deprecateWorker')
    await vi.advanceTimersByTimeAsync(3990)
    expect(sql.calls).not.toContain('markWorkerStopped')
    await vi.advanceTimersByTimeAsync(1020)
    expect(claimed()).toHaveLength(claims)
    expect(sql.released).toEqual([{ runId: 'run', stepSlug: 'pack', taskIndex: 2, attempt: 1, started: true }])
    expect(sql.reports).toMatchObject([{ taskIndex: 0, status: 'completed' }])
    expect(sql.calls.at(-1)).toBe('markWorkerStopped')
    await vi.advanceTimersByTimeAsync(10)
    expect(events.at(-1)).toMatchObject({
      event: 'worker.stopped',
      reason: 'wall_clock',
      completedTasks: 1,
      failedTasks: 0,
      releasedTasks: 1,
      leftTasks: 1,
    })
  })

  it('asks the host to keep it until it has stopped', async () => {
    const { ask, platform } = setUp()
    await ask()
    let isSettled = false
    void platform.settled().then(() => {
      isSettled = true
    })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(isSettled).toBe(false)
    platform.shutDown('termination')
    await vi.advanceTimersByTimeAsync(1000)
    expect(isSettled).toBe(true)
  })

  it('warns about a timeout above half of its life and refuses one above the whole', () => {
    const { workerFunction, events } = setUp({ platform: { wallClockMs: 150_000 } })
    const { settings, connection } = resolveWorkerConfig()
    const add = (slug: string, timeout: number) =>
      workerFunction.add(
        subscriptionOf(
          new Flow({ slug, timeout }).step({ slug: 'slow' }, () => 1),
          undefined,
        ),
        settings,
        connection,
      )
    add('patient', 100)
    expect(events).toContainEqual({
      level: 'warn',
      event: 'worker.step_timeout_long',
      timedStep: 'slow',
      timeoutSeconds: 100,
      wallClockSeconds: 150,
    })
    try {
      add('endless', 151)
      expect.unreachable()
    } catch (error) {
      expect(isStarflowError(error, 'SF404')).toBe(true)
      expect((error as { hint: string }).hint).toMatch('process worker')
    }
  })

  it('is stopped by its own stop, twice, and before any start', async () => {
    const { workerFunction, ask, sql } = setUp()
    await workerFunction.stop()
    const second = setUp()
    await second.ask()
    const stopping = Promise.all([second.workerFunction.stop(), second.workerFunction.stop()])
    await vi.advanceTimersByTimeAsync(100)
    await stopping
    expect(second.sql.calls.at(-1)).toBe('markWorkerStopped')
    expect(await ask()).toMatchObject({ http: 503, status: 'stopping' })
    expect(sql.calls).toEqual([])
  })
})

describe('WorkerFunction, running handlers', () => {
  it('gives a root step the input of the run and a context with the task', async () => {
    let seen: unknown[] = []
    const { ask, sql } = setUp({
      handler: async (input, context) => {
        seen = [
          input,
          await context.flowInput,
          context.stepTask,
          context.workerConfig,
          (context.env as typeof ENV).STARFLOW_AUTH_SECRET,
        ]
      },
      config: { maxConcurrent: 3 },
    })
    sql.enqueue(1, { flowInput: { order: 1 }, attempt: 4 })
    await ask()
    await sql.until(({ reports }) => reports.length === 1)
    expect(seen).toEqual([
      { order: 1 },
      { order: 1 },
      { flow_slug: 'orders', run_id: 'run-0', step_slug: 'pack', task_index: 0, msg_id: '1', attempt: 4 },
      expect.objectContaining({ maxConcurrent: 3 }),
      's3cret',
    ])
    expect(sql.reports[0]).toMatchObject({ attempt: 4, output: 'null' })
  })

  it('keeps inputs, outputs, error texts and secrets out of its log', async () => {
    const { ask, sql, events } = setUp({
      handler: (input) => {
        throw new NonRetryableError(`cannot pack ${JSON.stringify(input)}`)
      },
    })
    sql.enqueue(1, { flowInput: { card: 'PAYLOAD' } })
    await ask()
    await sql.until(({ reports }) => reports.length === 1)
    const failed = events.find(({ event }) => event === 'task.failed')
    expect(failed).toMatchObject({ errorName: 'NonRetryableError', permanent: true, runId: 'run-0' })
    const others = events.filter((event) => event !== failed)
    expect(JSON.stringify(others)).not.toMatch(/PAYLOAD|s3cret/)
  })

  it('refuses ctx.sql with its reason where maxPgConnections is 1', async () => {
    const { ask, sql } = setUp({
      handler: (_input, context) => (context.sql as (strings: TemplateStringsArray) => unknown)`select 1`,
      config: { maxPgConnections: 1 },
    })
    sql.enqueue(1)
    await ask()
    await sql.until(({ reports }) => reports.length === 1)
    expect(sql.reports[0]).toMatchObject({
      status: 'failed',
      errorMessage: expect.stringContaining('maxPgConnections is 1'),
    })
  })

  it('refuses ctx.supabase with its reason where a variable is missing', async () => {
    const { ask, sql } = setUp({
      handler: (_input, { supabase }) => (supabase as { from(table: string): unknown }).from('orders'),
    })
    sql.enqueue(1)
    await ask()
    await sql.until(({ reports }) => reports.length === 1)
    expect(sql.reports[0]).toMatchObject({
      errorMessage:
        'ctx.supabase needs SUPABASE_URL and SUPABASE_SERVICE_ROLE_KEY. Hint: Set the missing environment variables of this function.',
    })
  })

  it('gives ctx.supabase in place where both variables are set', async () => {
    const { ask, sql } = setUp({
      handler: (_input, { supabase }) => typeof (supabase as { from: unknown }).from,
      platform: { env: { ...ENV, SUPABASE_URL: 'http://localhost:1', SUPABASE_SERVICE_ROLE_KEY: 'key' } },
    })
    sql.enqueue(1)
    await ask()
    await sql.until(({ reports }) => reports.length === 1)
    expect(sql.reports[0]).toMatchObject({ status: 'completed', output: '"function"' })
  })

  it('checks the input of a run against the schema, for good', async () => {
    const sql = new FakeSql()
    const platform = testPlatform({ env: ENV })
    const workerFunction = new WorkerFunction({ platform, connect: () => sql, logger: () => {} })
    functions.push(workerFunction)
    const input = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof (value as { total?: unknown }).total === 'number'
            ? { value: value as { total: number } }
            : { issues: [{ message: 'must be a number', path: ['total'] }] },
      },
    }
    const flow = new Flow({ slug: 'orders', input }).step({ slug: 'pack' }, (order) => order?.total ?? null)
    const { settings, connection } = resolveWorkerConfig()
    workerFunction.add(subscriptionOf(flow, undefined), settings, connection)
    sql.enqueue(1, { runId: 'bad', flowInput: { total: 'much' } })
    sql.enqueue(1, { runId: 'good', flowInput: { total: 7 } })
    await platform.request('/orders', { secret: 's3cret' })
    await sql.until(({ reports }) => reports.length === 2)
    expect(sql.reports.toSorted((left, right) => left.runId.localeCompare(right.runId))).toMatchObject([
      {
        status: 'failed',
        permanent: true,
        errorMessage: 'The input does not match the schema of flow "orders": $.total: must be a number',
      },
      { status: 'completed', output: '7' },
    ])
  })
})
