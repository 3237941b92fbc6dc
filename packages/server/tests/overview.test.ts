import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { type Substrate, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

describe.each<Substrate>(['sqlite', 'supabase'])('the overview, kept on %s', async (substrate) => {
  const storage = await testStorage(substrate)
  const server = await testServer(storage)
  const operator = server.operator.with({ 'starflow-workspace': 'shop' })
  const shop = await server.workspace('shop')
  const bank = await server.workspace('bank')

  test('counts the runs of the workspace: open ones, waits, and starts and failures per minute', async () => {
    await shop.post('/api/runs', { flow: 'brokenV1', input: { name: 'a' } })
    await shop.post('/api/runs', { flow: 'approvalV1', input: { name: 'b' } })
    await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'c' }, pool: 'nowhere' })
    const total = (minutes: readonly Record<string, number>[], key: string) =>
      minutes.reduce((sum, minute) => sum + minute[key]!, 0)
    const { body } = await until(
      () => shop.get('/api/overview'),
      ({ body }) => body.openWaits === 1 && total(body.runs.minutes, 'failed') === 1,
    )
    expect(body.runs.open).toEqual({ queued: 1, running: 0, paused: 1 })
    expect(total(body.runs.minutes, 'started')).toBe(3)
    expect(body.runs.minutes).toHaveLength(60)
    expect(body.liveness.problems).toEqual([])
    expect((await operator.get('/api/overview')).body).toEqual({
      ...{ asOf: expect.any(String), runs: body.runs, openWaits: 1, liveness: expect.any(Object) },
      ...{ queues: { total: 0, inTrouble: [] }, workers: substrate === 'sqlite' ? null : { live: 0 }, outbox: null },
      runners: { live: 1, capacity: 10, runs: expect.any(Number) },
    })
    expect((await bank.get('/api/overview')).body).toMatchObject({
      ...{ openWaits: 0, runs: { open: { queued: 0, running: 0, paused: 0 } } },
    })
  })

  test('changes are told to whoever listens', async () => {
    const events = shop.stream('/api/live', {}, (told) => told.slice(7).some(({ text }) => text === 'runs'))
    let isTold = false
    void events.finally(() => {
      isTold = true
    })
    while (!isTold) await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'd' } })
    expect((await events).every(({ event }) => event === 'hint')).toBe(true)
  })
})

describe('step queues', async () => {
  const storage = await testStorage('supabase')
  const { sql } = storage.database!
  const core = new StarflowSql(sql)
  const orders = new Flow<{ id: string }>({ slug: 'ordersV2', maxAttempts: 4, timeout: 30 })
    .step({ slug: 'check' }, ({ id }) => id)
    .step({ slug: 'ship', dependsOn: ['check'], if: { check: 'ok' }, maxAttempts: 1 }, ({ check }) => check)
  const { routes } = withStepQueues(orders)
  await core.ensureFlowCompiled({
    ...{ flowSlug: orders.slug, shape: extractFlowShape(orders), queueMode: 'step', routeMap: routes },
  })
  const server = await testServer(storage, {}, { flows: [] })
  const operator = server.operator.with({ 'starflow-workspace': 'shop' })

  test('without a worker are in trouble as soon as there is work, until somebody comes', async () => {
    expect((await operator.get('/api/queues')).body.queues).toMatchObject([
      { queue: 'ordersv2__check', depth: 0, troubles: [], donePerMinute: null, unsupported: 0 },
      { queue: 'ordersv2__ship' },
    ])
    await operator.post('/api/runs', { flow: 'ordersV2', input: { id: '1' } })
    const { body } = await until(
      () => operator.get('/api/overview'),
      (answer) => answer.body.queues.inTrouble.length > 0,
    )
    expect(body.queues).toMatchObject({
      total: 2,
      inTrouble: [{ queue: 'ordersv2__check', troubles: ['no_worker'], depth: 1, liveWorkers: 0 }],
    })
    await core.trackWorkerFunction('ordersv2__check')
    const [workerId, executionId] = [randomUUID(), randomUUID()]
    await core.registerWorker({
      ...{ workerId, executionId, queueName: 'ordersv2__check', functionName: 'ordersv2__check' },
    })
    const { body: after } = await until(
      () => operator.get('/api/overview'),
      (answer) => answer.body.queues.inTrouble.length === 0,
    )
    expect(after.workers).toEqual({ live: 1 })
    expect((await operator.get('/api/functions')).body.functions).toMatchObject([
      { function: 'ordersv2__check', queues: ['ordersv2__check'], liveWorkers: 1, lives: 1, failedStarts: 0 },
    ])
    const seen = async () => {
      const [workers, functions] = [await operator.get('/api/workers'), await operator.get('/api/functions')]
      return [workers.body.workers[0], functions.body.functions[0]]
    }
    expect(await seen()).toMatchObject([
      { workerId, executionId, tasks: 0, workersInExecution: 1, cpuMs: null, cpuMsPerTask: null },
      { measuredWorkers: 0, cpuMsPerTask: null },
    ])
    await core.reportUsage(workerId, { tasks: 8, cpuMs: null })
    await core.reportCpu({ [executionId]: 20 })
    expect(await seen()).toMatchObject([
      { tasks: 8, cpuMs: 20, cpuMsPerTask: 2.5 },
      { measuredWorkers: 1, cpuMsPerTask: 2.5 },
    ])
  })

  test('have a history where they are sampled', async () => {
    await sql`select starflow.sample_queues()`
    const { body } = await operator.get(
      `/api/queues/ordersv2__check/samples?to=${new Date(Date.now() + 60_000).toISOString()}`,
    )
    expect(body).toMatchObject({
      queue: 'ordersv2__check',
      samples: [{ depth: 1, inFlight: 0, liveWorkers: 1, done: null, donePerMinute: null }],
    })
    expect((await operator.get('/api/queues/nothing/samples')).body.samples).toEqual([])
  })

  test('show their flow with options, conditions, version and what is left of it', async () => {
    const [flow] = (await operator.get('/api/flows')).body.flows
    expect(flow).toMatchObject({
      ...{ flow: 'ordersV2', family: 'orders', version: 2, isPaused: false, schedules: [] },
      drain: { openRuns: 1, openWaits: 0, isDrained: false },
      steps: [
        { step: 'check', options: { maxAttempts: 4, timeoutSeconds: 30 }, condition: null, whenExhausted: 'fail' },
        {
          step: 'ship',
          options: { maxAttempts: 1 },
          condition: { if: { check: 'ok' }, ifNot: null, whenUnmet: 'skip' },
        },
      ],
    })
  })

  test('are the operator’s business: a workspace is shown its runs, waits and flows, and nothing of what serves all', async () => {
    const bank = await server.workspace('bank')
    for (const path of ['queues', 'queues/ordersv2__check/samples', 'coverage', 'workers', 'functions', 'runners']) {
      const { status, body } = await bank.get(`/api/${path}`)
      expect([path, status, body.error.code]).toEqual([path, 403, 'SF904'])
    }
    const [flow] = (await bank.get('/api/flows')).body.flows
    expect(flow).toMatchObject({ flow: 'ordersV2', placements: ['queue'], drain: null, schedules: [] })
    expect((await bank.get('/api/overview')).body).toMatchObject({
      ...{ queues: null, workers: null, runners: null, outbox: null, openWaits: 0 },
    })
  })

  test('give out nothing of a flow that the operator has paused', async () => {
    const paused = await server.operator.post('/api/flows/ordersV2/pause')
    expect([paused.status, paused.body]).toEqual([200, { flow: 'ordersV2', isPaused: true }])
    expect((await operator.get('/api/flows')).body.flows[0]).toMatchObject({ isPaused: true })
    expect((await server.operator.post('/api/flows/ordersV2/resume')).body.isPaused).toBe(false)
    const unknown = await server.operator.post('/api/flows/nowhere/pause')
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'SF201'])
  })
})
