import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { ApiClient } from './support/api-client.ts'
import { testServer, testStorage, WAIT_SECRET } from './support/test-servers.ts'
import { until } from './support/until.ts'

const LARGE = 'x'.repeat(70_000)

/** The same flow in both placements: a map whose second element fails once, and an output too large to be shown with the run. */
let failures = 0
const spread = new Flow<{ names: string[] }>({ slug: 'spreadV1', maxAttempts: 2, baseDelay: 0 })
  .step({ slug: 'list' }, ({ names }) => names)
  .map({ slug: 'each', array: 'list' }, (name) => {
    if (name === 'bo' && failures++ === 0) throw new Error('no such name')
    return name.toUpperCase()
  })
  .step({ slug: 'blow', dependsOn: ['each'] }, () => LARGE)

const storage = await testStorage('supabase')
const { sql } = storage.database!
const core = new StarflowSql(sql)
const { routes } = withStepQueues(spread)
await core.ensureFlowCompiled({
  ...{ flowSlug: spread.slug, shape: extractFlowShape(spread), queueMode: 'step', routeMap: routes },
})
const workerId = randomUUID()
await core.registerWorker({ workerId, queueName: routes[0]!.queueName, functionName: 'spread' })
const server = await testServer(storage, {}, { flows: [spread] })
const shopToken = (await server.token('shop')).token
const shop = new ApiClient(server.url, shopToken)
const bank = await server.workspace('bank')
const names = ['ana', 'bo', 'cy']

/** Does everything that a step has, as its worker would; what fails is tried again. */
async function work(stepSlug: string, output: (input: unknown, attempt: number) => unknown): Promise<void> {
  const { queueName } = routes.find((route) => route.stepSlug === stepSlug)!
  for (;;) {
    const call = { workerId, queueName, flowSlug: spread.slug, stepSlug, qty: 10, onUnsupported: 'skip' } as const
    const { claimed } = await core.settleAndClaim({ ...call, reports: [] })
    if (claimed.length === 0) return
    await core.settleTasks(
      workerId,
      claimed.map(({ runId, taskIndex, attempt, input }) => {
        const result = output(input, attempt)
        const report = { runId, stepSlug, taskIndex, attempt }
        return result instanceof Error
          ? {
              ...report,
              status: 'failed',
              errorMessage: result.message,
              error: { name: result.name, stack: 'at each' },
            }
          : { ...report, status: 'completed', output: JSON.stringify(result) }
      }),
    )
  }
}

async function run(placement: 'queue' | 'runner'): Promise<string> {
  const { body } = await shop.post('/api/runs', { flow: 'spreadV1', input: { names }, placement })
  if (placement === 'queue') {
    await work('list', () => names)
    await work('each', (name, attempt) => (name === 'bo' && attempt === 1 ? new Error('no such name') : String(name)))
    await work('blow', () => LARGE)
  }
  await until(
    async () => (await shop.get(`/api/runs/${body.runId}`)).body,
    (shown) => shown.endedAt !== null,
  )
  return body.runId
}

describe.each(['queue', 'runner'] as const)('a run in placement %s', async (placement) => {
  const runId = await run(placement)

  test('shows what a graph and a timeline need: dependencies, times, attempts and the progress of maps', async () => {
    const { body } = await shop.get(`/api/runs/${runId}`)
    expect(body.status).toBe('success')
    const [list, each, blow] = body.steps
    expect(list).toMatchObject({
      step: 'list',
      type: 'single',
      dependsOn: [],
      attempts: 1,
      maxAttempts: 2,
      error: null,
    })
    expect(each).toMatchObject({
      ...{ step: 'each', type: 'map', dependsOn: ['list'], attempts: 2, status: 'completed', error: null },
      tasks: { total: 3, queued: 0, started: 0, completed: 3, failed: 0 },
    })
    expect(blow).toMatchObject({ dependsOn: ['each'], tasks: null })
    expect([list.queue, each.queue]).toEqual(
      placement === 'queue' ? ['spreadv1__list', 'spreadv1__each'] : [null, null],
    )
    for (const step of body.steps) {
      const times = [step.readyAt, step.startedAt, step.endedAt]
      expect(times).toEqual(times.toSorted())
      expect(times.every((time) => typeof time === 'string')).toBe(true)
    }
    expect(each.spans.map(({ task, attempt, outcome }: Record<string, unknown>) => [task, attempt, outcome])).toEqual([
      [0, 1, 'completed'],
      [1, 1, 'failed'],
      [1, 2, 'completed'],
      [2, 1, 'completed'],
    ])
  })

  test('leaves large outputs out, tells their size, and gives them when they are asked for', async () => {
    const { body } = await shop.get(`/api/runs/${runId}`)
    const blow = body.steps.at(-1)
    expect([blow.output, body.output]).toEqual([null, null])
    expect(body.input).toEqual({ names })
    expect(blow.outputBytes).toBeGreaterThan(1000)
    expect((await shop.get(`/api/runs/${runId}/steps/blow/output`)).body).toEqual({ output: LARGE })
    expect((await shop.get(`/api/runs/${runId}/output`)).body).toEqual({ output: { blow: LARGE } })
    expect((await shop.get(`/api/runs/${runId}/input`)).body).toEqual({ input: { names } })
  })

  test('tells how far it is to whoever asks again and again, without what it was given and gives', async () => {
    const { body } = await shop.get(`/api/runs/${runId}/status`)
    const { steps, ...summary } = (await shop.get(`/api/runs/${runId}`)).body
    const { steps: shown, ...rest } = body
    expect(shown).toEqual([
      { step: 'list', status: 'completed', tasks: null },
      { step: 'each', status: 'completed', tasks: { total: 3, left: 0 } },
      { step: 'blow', status: 'completed', tasks: null },
    ])
    expect(summary).toMatchObject(rest)
    expect(Object.keys(rest)).not.toContain('input')
    expect(JSON.stringify(body)).not.toContain('ana')
    const foreign = await bank.get(`/api/runs/${runId}/status`)
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'SF802'])
  })

  test('lists the tasks of a map page by page, with every attempt and its error, and gives the output of each', async () => {
    const first = (await shop.get(`/api/runs/${runId}/steps/each/tasks?limit=2`)).body
    expect(first.next).toBe(1)
    expect(first.tasks.map(({ task, status }: Record<string, unknown>) => [task, status])).toEqual([
      [0, 'completed'],
      [1, 'completed'],
    ])
    expect(first.tasks[1].attempts).toMatchObject([
      { attempt: 1, outcome: 'failed', error: 'no such name', errorName: 'Error', errorStack: expect.any(String) },
      { attempt: 2, outcome: 'completed', error: null },
    ])
    const second = (await shop.get(`/api/runs/${runId}/steps/each/tasks?limit=2&after=1`)).body
    expect([second.tasks.map(({ task }: { task: number }) => task), second.next]).toEqual([[2], null])
    expect((await shop.get(`/api/runs/${runId}/steps/each/tasks?status=failed`)).body.tasks).toEqual([])
    const { output } = (await shop.get(`/api/runs/${runId}/steps/each/output?task=2`)).body
    expect(String(output).toLowerCase()).toBe('cy')
    const whole = (await shop.get(`/api/runs/${runId}/steps/each/output`)).body.output
    expect(whole.map((name: string) => name.toLowerCase())).toEqual(names)
  })

  test('has no steps and no tasks but its own', async () => {
    const noTasks = ['steps/each/output?task=3', 'steps/list/output?task=1', 'steps/nothing/output?task=0']
    for (const path of ['steps/nothing/tasks', 'steps/nothing/output', ...noTasks]) {
      const { status, body } = await shop.get(`/api/runs/${runId}/${path}`)
      expect([status, body.error.code]).toEqual([404, 'SF107'])
    }
  })

  test('is found by a text, a time and its status', async () => {
    const found = async (query: string) =>
      (await shop.get(`/api/runs?placement=${placement}&${query}`)).body.runs.map(
        (each: { runId: string }) => each.runId,
      )
    const { createdAt } = (await shop.get(`/api/runs/${runId}`)).body
    expect(await found(`q=${runId.slice(0, 13)}`)).toEqual([runId])
    expect(await found('q=SPREAD')).toEqual([runId])
    expect(await found('q=spreads')).toEqual([])
    expect(await found(`from=${createdAt}&status=success,error`)).toEqual([runId])
    expect(await found(`to=${createdAt}`)).toEqual([])
    expect(await found('status=error')).toEqual([])
    const wrong = await shop.get('/api/runs?status=broken')
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'SF902'])
  })
})

test('what is in progress is told alike in both placements: a wait, and a map over the input', async () => {
  const waiting = new Flow<number[]>({ slug: 'approvalsV1' })
    .map({ slug: 'half' }, (each) => each / 2)
    .wait({ slug: 'decide', dependsOn: ['half'] })
    .step({ slug: 'tell', dependsOn: ['decide'] }, () => 'told')
  await sql`select vault.create_secret(${WAIT_SECRET}, 'starflow_wait_token_secret')`
  const other = await testServer(storage, { STARFLOW_SERVICE_ID: 'other' }, { flows: [waiting] })
  const shape = extractFlowShape(waiting)
  await core.ensureFlowCompiled({ flowSlug: waiting.slug, shape, queueMode: 'flow', routeMap: null })
  const client = new ApiClient(other.url, shopToken)
  const statusOf = async (placement: string) => {
    const { body } = await client.post('/api/runs', { flow: waiting.slug, input: [2, 4], placement })
    if (placement === 'queue') {
      const call = {
        workerId,
        queueName: 'approvalsv1',
        flowSlug: waiting.slug,
        qty: 10,
        onUnsupported: 'skip',
      } as const
      const { claimed } = await core.settleAndClaim({ ...call, stepSlug: null, reports: [] })
      await core.settleTasks(
        workerId,
        claimed.map(({ runId, stepSlug, taskIndex, attempt }) => ({
          ...{ runId, stepSlug, taskIndex, attempt, status: 'completed', output: '1' },
        })),
      )
    }
    const status = await until(
      async () => (await client.get(`/api/runs/${body.runId}/status`)).body,
      ({ steps }) => steps[1].status === 'waiting',
    )
    return status.steps
  }
  expect(await statusOf('runner')).toEqual([
    { step: 'half', status: 'completed', tasks: { total: 2, left: 0 } },
    { step: 'decide', status: 'waiting', tasks: null },
    { step: 'tell', status: 'created', tasks: null },
  ])
  expect(await statusOf('queue')).toEqual(await statusOf('runner'))
})

test('many runs are steered at once, and each is answered for', async () => {
  const ids = await Promise.all(
    [1, 2, 3].map(
      async () =>
        (await shop.post('/api/runs', { flow: 'spreadV1', input: { names: [] }, pool: 'nowhere' })).body
          .runId as string,
    ),
  )
  const unknown = randomUUID()
  const outcomes = async (action: 'cancel' | 'retry', runIds: readonly string[], client = shop) =>
    (await client.post(`/api/runs/${action}`, { runIds: [...runIds] })).body.runs.map(
      ({ outcome }: { outcome: string }) => outcome,
    )
  expect(await outcomes('cancel', [...ids, unknown])).toEqual(['cancelled', 'cancelled', 'cancelled', 'not_found'])
  expect(await outcomes('cancel', ids)).toEqual(['unchanged', 'unchanged', 'unchanged'])
  expect(await outcomes('retry', ids, bank)).toEqual(['not_found', 'not_found', 'not_found'])
  expect(await outcomes('retry', ids)).toEqual(['retried', 'retried', 'retried'])
  for (const runIds of [[], [ids[0]!, ids[0]!], Array.from({ length: 101 }, () => randomUUID())]) {
    expect((await shop.post('/api/runs/cancel', { runIds })).status).toBe(400)
  }
})
