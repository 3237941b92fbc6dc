import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { testServer, testStorage } from './support/test-servers.ts'

const storage = await testStorage('supabase')
const { sql } = storage.database!
const core = new StarflowSql(sql)
const workerId = randomUUID()

/** Of two placements: the server loads it, and it is compiled. */
const orders = new Flow<{ id: string }>({ slug: 'ordersV1', maxAttempts: 1 })
  .step({ slug: 'check' }, ({ id }) => id)
  .step({ slug: 'ship', dependsOn: ['check'] }, ({ check }) => check)
const { routes } = withStepQueues(orders)
await core.ensureFlowCompiled({
  ...{ flowSlug: orders.slug, shape: extractFlowShape(orders), queueMode: 'step', routeMap: routes },
})
await core.trackWorkerFunction('orders-worker')
await core.registerWorker({ workerId, queueName: routes[0]!.queueName, functionName: 'orders-worker' })

const server = await testServer(storage, {}, { flows: [orders] })
const shop = await server.workspace('shop')

/** Does one step of every run that waits for it, as its worker would. */
async function work(stepSlug: 'check' | 'ship', output: string | Error) {
  const { queueName } = routes.find((route) => route.stepSlug === stepSlug)!
  const call = { workerId, queueName, flowSlug: orders.slug, stepSlug, qty: 10, onUnsupported: 'skip' } as const
  const { claimed } = await core.settleAndClaim({ ...call, reports: [] })
  await core.settleTasks(
    workerId,
    claimed.map(({ runId, taskIndex, attempt }) => ({
      ...{ runId, stepSlug, taskIndex, attempt },
      ...(output instanceof Error
        ? { status: 'failed', errorMessage: output.message }
        : { status: 'completed', output: JSON.stringify(output) }),
    })),
  )
}

describe('a run on step queues', () => {
  test('is what a start gives by default where the flow is compiled, and a runner’s where that is asked for', async () => {
    const queued = await shop.post('/api/runs', { flow: 'ordersV1', input: { id: 'o1' } })
    expect(queued.body).toMatchObject({ placement: 'queue', status: 'running', workspace: 'shop', env: 'prod' })
    const asked = await shop.post('/api/runs', { flow: 'ordersV1', input: { id: 'o2' }, placement: 'runner' })
    expect(asked.body).toMatchObject({ placement: 'runner', workspace: 'shop' })
    const pooled = await shop.post('/api/runs', { flow: 'ordersV1', input: { id: 'o3' }, pool: 'gpu' })
    expect(pooled.body).toMatchObject({ placement: 'runner', pool: 'gpu' })
    const both = await shop.post('/api/runs', { flow: 'ordersV1', input: {}, pool: 'gpu', placement: 'queue' })
    expect([both.status, both.body.error.code]).toEqual([409, 'SF910'])
  })

  test('stands in one list with the runs of runners, page by page', async () => {
    const mixed = await server.workspace('mixed')
    const started: string[] = []
    for (const placement of ['queue', 'runner', 'runner', 'queue', 'queue']) {
      started.push((await mixed.post('/api/runs', { flow: 'ordersV1', input: { id: 'x' }, placement })).body.runId)
    }
    const listed: string[] = []
    for (let cursor = ''; ; ) {
      const { runs, next } = (await mixed.get(`/api/runs?limit=2${cursor}`)).body
      listed.push(...runs.map((run: { runId: string }) => run.runId))
      if (next === null) break
      cursor = `&cursor=${next}`
    }
    expect(listed).toEqual(started.toReversed())
    const { body } = await mixed.get('/api/runs?placement=queue')
    expect(body.runs).toHaveLength(3)
  })

  test('shows its steps, and tells what happened in a stream that goes on behind the last id', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'ordersV1', input: { id: 'o4' }, placement: 'queue' })).body
    await work('check', 'checked')
    const path = `/api/runs/${runId}/events`
    const first = await shop.stream(path, {}, (events) => events.some(({ event }) => event === 'node_complete'))
    const rest = shop.stream(path, { 'last-event-id': first.at(-1)!.id! })
    await work('ship', 'shipped')
    const streamed = [...first, ...(await rest)]
    expect(streamed.map(({ event }) => event)).toEqual([
      ...['run_started', 'node_start', 'node_complete', 'node_start', 'node_complete', 'run_completed', 'end'],
    ])
    const all = (await shop.get(path)).body.events
    expect(streamed.slice(0, -1).map(({ data }) => data)).toEqual(all)
    const page = (await shop.get(`${path}?limit=2&after=${encodeURIComponent(all[1].id)}`)).body.events
    expect(page).toEqual(all.slice(2, 4))
    expect((await shop.get(`/api/runs/${runId}`)).body).toMatchObject({
      status: 'success',
      output: { ship: 'shipped' },
      steps: [
        { step: 'check', status: 'completed', attempts: 1, output: 'checked' },
        { step: 'ship', status: 'completed', attempts: 1, output: 'shipped' },
      ],
    })
  })

  test('shows numbers that JavaScript would round as the database has them, and is not started with one', async () => {
    const large = '{"id": 1970670598291982290}'
    const [run] =
      await sql`select run_id from starflow.start_queue_run('shop', 'prod', 'ordersV1', ${large}::text::jsonb)`
    const headers = { authorization: `Bearer ${(await server.token('shop')).token}` }
    const shown = await fetch(`${server.url}/api/runs/${run!.run_id}`, { headers })
    expect(await shown.text()).toContain('"input":{"id":1970670598291982290}')
    const input = await fetch(`${server.url}/api/runs/${run!.run_id}/input`, { headers })
    expect(await input.text()).toBe('{"input":{"id":1970670598291982290}}')
    expect(input.headers.get('content-type')).toBe('application/json')

    const refused = await fetch(`${server.url}/api/runs`, {
      ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' } },
      body: `{"flow": "ordersV1", "input": ${large}}`,
    })
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('$.input.id has more digits')])
  })

  test('that failed says why, and goes on where it stopped after a retry', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'ordersV1', input: { id: 'o5' }, placement: 'queue' })).body
    await work('check', new Error('no such order'))
    expect((await shop.get(`/api/runs/${runId}`)).body).toMatchObject({ status: 'error', error: 'no such order' })
    expect((await shop.post(`/api/runs/${runId}/retry`)).body).toEqual({ retried: true })
    expect((await shop.get(`/api/runs/${runId}`)).body).toMatchObject({ status: 'running', error: null })
    expect((await shop.post(`/api/runs/${runId}/cancel`, { reason: 'enough' })).body).toEqual({ cancelled: true })
    expect((await shop.post(`/api/runs/${runId}/cancel`)).body).toEqual({ cancelled: false })
    expect((await shop.get('/api/runs?status=cancelled&placement=queue')).body.runs).toMatchObject([{ runId }])
  })

  test('is started once for one idempotency key', async () => {
    const start = { flow: 'ordersV1', input: { id: 'o6' }, idempotencyKey: 'o6', placement: 'queue' }
    const answers = await Promise.all([shop.post('/api/runs', start), shop.post('/api/runs', start)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 201])
    expect(answers[0]!.body.runId).toBe(answers[1]!.body.runId)
  })

  test('refuses to follow it from behind an id that is none, before the stream begins', async () => {
    const { body } = await shop.post('/api/runs', { flow: 'ordersV1', input: { id: 'o3' }, placement: 'queue' })
    const stream = shop.stream(`/api/runs/${body.runId}/events`, { 'last-event-id': 'nonsense' })
    await expect(stream).rejects.toThrow(/^400 .*SF902/)
  })
})

describe('an operator', () => {
  test('sees queues, coverage, workers and flows', async () => {
    expect((await server.operator.get('/api/queues')).body.queues).toMatchObject([
      { queue: 'ordersv1__check', steps: ['ordersV1.check'], liveWorkers: 1 },
      { queue: 'ordersv1__ship', steps: ['ordersV1.ship'], liveWorkers: 0 },
    ])
    expect((await server.operator.get('/api/coverage?flow=ordersV1')).body.routes).toMatchObject([
      { step: 'check', functions: ['orders-worker'], problem: null },
      { step: 'ship', functions: [], liveWorkers: 0 },
    ])
    expect((await server.operator.get('/api/workers')).body.workers).toMatchObject([
      { workerId, function: 'orders-worker', state: 'live' },
    ])
    expect((await server.operator.get('/api/flows')).body.flows).toMatchObject([
      {
        flow: 'ordersV1',
        placements: ['queue', 'runner'],
        queueMode: 'step',
        steps: [
          { step: 'check', type: 'single', dependsOn: [], queue: 'ordersv1__check' },
          { step: 'ship', type: 'single', dependsOn: ['check'], queue: 'ordersv1__ship' },
        ],
      },
    ])
  })

  test('lifts no fence of a rollout that is at work, unless by force', async () => {
    await sql`
      select pgflow.hold_fence('{orders-worker}', 'rollout', 'rollout by ana', ${randomUUID()}, '1 hour')`
    const refused = await server.operator.post('/api/functions/orders-worker/restore')
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { code: 'SF632', message: expect.stringContaining('rollout by ana') } },
    })
    const forced = await server.operator.post('/api/functions/orders-worker/restore', { force: true })
    expect(forced.body).toMatchObject({ isEnabled: true, fencedBy: null })
  })

  test('fences a worker function and restores it; nobody else’s name may fence it meanwhile', async () => {
    const fenced = await server.operator.post('/api/functions/orders-worker/fence', { by: 'ana' })
    expect(fenced.body).toMatchObject({
      function: 'orders-worker',
      isEnabled: false,
      isEnabledBeforeFence: true,
      fencedBy: 'ana',
    })
    const other = await server.operator.post('/api/functions/orders-worker/fence', { by: 'bo' })
    expect([other.status, other.body.error.code]).toEqual([409, 'SF421'])
    const restored = await server.operator.post('/api/functions/orders-worker/restore')
    expect(restored.body).toMatchObject({ isEnabled: true, fencedBy: null })
    expect((await server.operator.get('/api/functions')).body.functions).toMatchObject([
      { function: 'orders-worker', isEnabled: true },
    ])
    const unknown = await server.operator.post('/api/functions/nothing/fence')
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'SF422'])
  })
})
