import { StarflowSql } from '@starflow/core'
import type { Json } from '@starflow/dsl'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import type { Answer, ApiClient } from './support/api-client.ts'
import { testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

const storage = await testStorage('supabase')
const server = await testServer(storage)
const { sql } = storage.database!
const queued = withStepQueues(
  new Flow<{ name: string }>({ slug: 'queuedV1' }).step({ slug: 'a' }, ({ name }) => name).wait({ slug: 'decide' }),
)
await sql`select vault.create_secret(${'a secret of the tests, long enough to sign'}, 'starflow_wait_token_secret')`
await new StarflowSql(sql).ensureFlowCompiled({
  ...{ flowSlug: 'queuedV1', shape: extractFlowShape(queued.flow), queueMode: 'step', routeMap: queued.routes },
})

const shop = await server.workspace('shop')
const bank = await server.workspace('bank')

/** Runs of the shop that the bank tries to get at: one in each placement, each with an open wait. */
const secretInput = { name: 'a name that only the shop may read' }
const runs = await Promise.all(
  ['approvalV1', 'queuedV1'].map(
    async (flow) => (await shop.post('/api/runs', { flow, input: secretInput })).body.runId as string,
  ),
)
await until(
  async () => (await shop.get('/api/waits')).body.waits.length,
  (count) => count === 2,
)
// Its runner has given it back: from here on nothing of it changes by itself.
await until(
  async () => (await shop.get(`/api/runs/${runs[0]}`)).body.claimState,
  (claimState) => claimState === 'paused',
)

interface Operation {
  readonly method: string
  readonly path: string
  readonly access: string
}

const { paths } = (await server.nobody.get('/api/openapi.json')).body as {
  paths: Record<string, Record<string, { 'x-access': string }>>
}
const operations: Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    access: operation['x-access'],
  })),
)

const BODIES: Readonly<Record<string, Json>> = {
  // They answer for each run that they are asked about.
  '/api/runs/cancel': { runIds: runs, reason: 'by somebody else' },
  '/api/runs/retry': { runIds: runs },
  '/api/runs/{runId}/waits/{step}/resume': { payload: 'taken' },
  '/api/runs/{runId}/cancel': { reason: 'by somebody else' },
}

function call(client: ApiClient, { method, path }: Operation, runId: string): Promise<Answer> {
  const target = path
    .replace('{runId}', runId)
    .replace('{step}', 'decide')
    .replace('{function}', 'some-function')
    .replace('{flow}', 'noSuchFlow')
    .replace('{queue}', 'some-queue')
  return client.send(method, target, method === 'POST' ? (BODIES[path] ?? {}) : undefined)
}

/** Everything that is kept of the shop's runs. */
async function snapshot() {
  const shown = runs.map((runId) =>
    shop.get(`/api/runs/${runId}`).then(({ body: { leaseUntil, leasedBy, ...run } }) => run),
  )
  const events = runs.map((runId) => shop.get(`/api/runs/${runId}/events`).then(({ body }) => body))
  return {
    shown: await Promise.all(shown),
    events: await Promise.all(events),
    waits: (await shop.get('/api/waits')).body,
  }
}

test('the description names every endpoint that is about runs, queues, workers, waits and runners', () => {
  expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual(
    expect.arrayContaining([
      ...['POST /api/runs', 'GET /api/runs', 'GET /api/runs/{runId}', 'GET /api/runs/{runId}/events'],
      ...['POST /api/runs/{runId}/cancel', 'POST /api/runs/{runId}/retry', 'GET /api/waits', 'POST /api/waits/resume'],
      ...['POST /api/runs/{runId}/waits/{step}/resume', 'GET /api/queues', 'GET /api/coverage', 'GET /api/workers'],
      ...['GET /api/functions', 'POST /api/functions/{function}/fence', 'POST /api/functions/{function}/restore'],
      ...[
        'POST /api/runs/cancel',
        'POST /api/runs/retry',
        'GET /api/runs/{runId}/input',
        'GET /api/runs/{runId}/output',
      ],
      ...['GET /api/runs/{runId}/steps/{step}/output', 'GET /api/runs/{runId}/steps/{step}/tasks'],
      ...['GET /api/runners', 'GET /api/runners/unserved', 'GET /api/flows', 'POST /api/session', 'GET /health'],
    ]),
  )
})

describe.each(operations)('$method $path', (operation) => {
  test('shows another workspace nothing of a run, and changes nothing of it', async () => {
    const before = await snapshot()
    for (const runId of runs) {
      const answer = await call(bank, operation, runId)
      expect(JSON.stringify(answer.body)).not.toContain(secretInput.name)
      if (operation.path.includes('{runId}')) {
        expect([answer.status, answer.body.error.code]).toEqual([404, 'SF802'])
      } else if (JSON.stringify(BODIES[operation.path])?.includes(runId)) {
        expect(answer.body.runs).toEqual(runs.map((runId) => ({ runId, outcome: 'not_found', error: null })))
      } else {
        expect(JSON.stringify(answer.body)).not.toContain(runId)
      }
      const posing = await call(bank.with({ 'starflow-workspace': 'shop' }), operation, runId)
      if (operation.access === 'scope' || operation.access === 'workspace') {
        expect([posing.status, posing.body.error.code]).toEqual([403, 'SF904'])
      }
    }
    expect(await snapshot()).toEqual(before)
  })

  test('needs a token, unless it is public', async () => {
    const { status, body } = await call(server.nobody, operation, runs[0]!)
    if (operation.access === 'public') expect(body.error?.code).not.toBe('SF903')
    else expect([status, body.error.code]).toEqual([401, 'SF903'])
  })

  test('asks an operator for a workspace where it is about one, and is nobody else’s where it is the operator’s', async () => {
    if (operation.access === 'scope' || operation.access === 'workspace') {
      const { status, body } = await call(server.operator, operation, runs[0]!)
      expect([status, body.error.code]).toEqual([400, 'SF905'])
    }
    if (operation.access === 'operator') {
      const { status, body } = await call(shop, operation, runs[0]!)
      expect([status, body.error.code]).toEqual([403, 'SF904'])
    }
  })
})

test('the workspace is kept from the request to the row to the runner', async () => {
  const rows =
    await sql`select workspace_id from starflow.workflow_runs union all select workspace_id from starflow.queue_runs`
  expect(rows.map((row) => row.workspace_id)).toEqual(['shop', 'shop'])
  const waits = server.log.filter(({ message }) => message === 'a run waits')
  expect(waits).toMatchObject([{ workspace: 'shop', runId: runs[0] }])
})

test('an operator who names every workspace sees the runs of all, and what was started in SQL', async () => {
  const [row] = await sql`select run_id from pgflow.start_flow('queuedV1', '{"name": "sql"}')`
  const every = server.operator.with({ 'starflow-workspace': '*' })
  const { body } = await every.get('/api/runs')
  expect(body.runs.map((run: { runId: string }) => run.runId)).toEqual(expect.arrayContaining([...runs, row!.run_id]))
  expect(body.runs.find((run: { runId: string }) => run.runId === row!.run_id)).toMatchObject({ workspace: null })
  expect((await shop.get(`/api/runs/${row!.run_id}`)).status).toBe(404)
  const start = await every.post('/api/runs', { flow: 'greetV1', input: { name: 'x' } })
  expect([start.status, start.body.error.code]).toEqual([400, 'SF905'])
})

test('whoever listens for changes is told of no run of another workspace', async () => {
  const [runId] = runs
  const watching = await bank.get(`/api/live?run=${runId}`)
  expect([watching.status, watching.body.error.code]).toEqual([404, 'SF802'])
  const kinds = new Set<string>()
  let isTold = false
  const streams = Promise.all([
    bank.stream('/api/live', {}, (events) => events.some(({ text }, index) => index > 10 && text === 'runs')),
    shop.stream(`/api/live?run=${runId}`, {}, (events) => events.filter(({ event }) => event === 'run').length > 1),
  ]).finally(() => {
    isTold = true
  })
  // Something happens to the run until both were told.
  for (let action = 'cancel'; !isTold; action = action === 'cancel' ? 'retry' : 'cancel') {
    await shop.post(`/api/runs/${runId}/${action}`)
  }
  const told = await streams
  for (const { event, text } of told[0]) {
    expect(event).toBe('hint')
    kinds.add(text)
  }
  expect([...kinds].sort()).toEqual(['flows', 'functions', 'queues', 'runners', 'runs', 'waits', 'workers'])
  expect(new Set(told[1].filter(({ event }) => event === 'run').map(({ text }) => text))).toEqual(new Set([runId]))
})

test('a search finds nothing of another workspace', async () => {
  for (const runId of runs) {
    for (const q of [runId, runId.slice(0, 9), 'v1']) {
      expect((await bank.get(`/api/runs?q=${q}`)).body).toEqual({ runs: [], next: null })
      expect((await shop.get(`/api/runs?q=${q}`)).body.runs).not.toEqual([])
    }
  }
})

test('nothing that was logged holds a payload or a token', async () => {
  const bad = await server.nobody.with({ authorization: 'Bearer sft_guess' }).get('/api/runs')
  expect(bad.status).toBe(401)
  const text = JSON.stringify(server.log)
  expect(text).toContain(runs[0])
  for (const secret of [secretInput.name, 'sft_', 'Bearer', 'operator-token', 'long enough to sign'])
    expect(text).not.toContain(secret)
})

test('a token that is revoked is refused at once', async () => {
  const { token, tokenId } = await server.token('shop')
  const client = server.nobody.with({ authorization: `Bearer ${token}` })
  expect((await client.get('/api/runs')).status).toBe(200)
  await sql`select starflow.revoke_api_token(${tokenId})`
  expect((await client.get('/api/runs')).status).toBe(401)
})
