import { createHmac, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StarflowSql } from '@starflow/core'
import { externalStep, extractFlowShape, Flow, type Json } from '@starflow/dsl'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

// Every endpoint that the server describes is sent values and secrets with a mark: one that it takes, ones that it refuses, and one
// whose store is broken. A new endpoint takes part by being described.

const MARK = `mark${randomBytes(6).toString('hex')}`
const secret = (of: string) => `${MARK}-${of}-long-enough-to-be-a-secret`
const OPERATOR = secret('operator')
const METRICS = secret('metrics')
const HOOK = secret('hook')
const WAITS = secret('waits')

/** Gives what it is given, and waits for more of it. */
const secretive = new Flow<Record<string, Json>>({ slug: 'secretiveV1', maxAttempts: 1 })
  .step({ slug: 'make' }, (input) => ({ made: input }))
  .wait({ slug: 'decide', dependsOn: ['make'] })
const failing = new Flow<Record<string, Json>>({ slug: 'failingV1', maxAttempts: 1 }).step(
  { slug: 'try' },
  (input): string => {
    throw new Error(`cannot do ${JSON.stringify(input)}`)
  },
)
const pressed = new Flow<Record<string, Json>>({ slug: 'pressedV1' }).step({ slug: 'press' }, externalStep('press'))
/** The one that is compiled: for step queues. */
const queued = new Flow<Record<string, Json>>({ slug: 'queuedV1' }).step({ slug: 'make' }, (input) => input)

const folder = mkdtempSync(join(tmpdir(), 'starflow-silent-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'starflow.yaml')
writeFileSync(
  file,
  'webhooks: { github: { flow: secretiveV1, signature: { scheme: github, secrets: [HOOK_SECRET] } } }\n',
)

/** What is said past the log. */
const written: string[] = []
for (const stream of [process.stdout, process.stderr]) {
  vi.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0)
}
for (const level of ['debug', 'log', 'info', 'warn', 'error'] as const) {
  vi.spyOn(console, level).mockImplementation((...parts) => void written.push(parts.map(String).join(' ')))
}
afterAll(() => vi.restoreAllMocks())

const storage = await testStorage('supabase')
const { sql, url } = storage.database!
const core = new StarflowSql(sql)
await core.ensureFlowCompiled({
  ...{ flowSlug: queued.slug, shape: extractFlowShape(queued), queueMode: 'flow', routeMap: null },
})
await core.trackWorkerFunction('queuedv1')
const server = await testServer(
  storage,
  {
    ...{ STARFLOW_ROLE: 'both', STARFLOW_MIRROR: 'on', STARFLOW_API_TOKEN: OPERATOR, STARFLOW_METRICS_TOKEN: METRICS },
    ...{ STARFLOW_CONFIG_FILE: file, STARFLOW_DEFAULT_WORKSPACE: 'shop', STARFLOW_WAIT_TOKEN_SECRET: WAITS },
    // Each request comes from an address of its own, so that no guess has an answer of 429.
    ...{ HOOK_SECRET: HOOK, STARFLOW_TRUSTED_PROXIES: '1', STARFLOW_DRAIN_TIMEOUT_MS: '1' },
  },
  { flows: [secretive, failing, pressed, queued] },
)
const { token } = await server.token('shop')

interface Schema {
  readonly type?: string
  readonly $ref?: string
  readonly format?: string
  readonly enum?: readonly Json[]
  readonly default?: Json
  readonly minimum?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}
interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly access: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly body: Schema | undefined
  readonly isStreamable: boolean
}
interface Sent {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
}

const operations = await describedOperations()

/** An operation as OpenAPI has it. */
interface Described extends Pick<Operation, 'parameters'> {
  readonly operationId: string
  readonly 'x-access': string
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: unknown
}

async function describedOperations(): Promise<Operation[]> {
  const { paths } = (await server.nobody.get('/api/openapi.json')).body
  return Object.entries(paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody, responses, ...operation }]) => ({
      ...{ id: operationId, method: method.toUpperCase(), path, access: operation['x-access'], parameters },
      isStreamable: JSON.stringify(responses).includes('text/event-stream'),
      body: requestBody?.content['application/json']?.schema,
    })),
  )
}

const MARKED: Json = { [`key ${MARK}`]: [`value ${MARK}`] }

/** What it takes of a schema, with a mark wherever anything goes. */
function markedValue(schema: Schema, known: Readonly<Record<string, Json | undefined>>, name = ''): Json | undefined {
  if (Object.hasOwn(known, name)) return known[name]
  if (schema.$ref !== undefined) return MARKED
  if (schema.enum !== undefined) return schema.enum[0]!
  if (schema.properties !== undefined) {
    const entries = Object.entries(schema.properties).map(
      ([key, each]) => [key, markedValue(each, known, key)] as const,
    )
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Json
  }
  if (schema.items !== undefined) return [markedValue(schema.items, known)!]
  if (schema.type === 'integer') return schema.minimum ?? 0
  if (schema.type === 'boolean') return false
  return `${name} ${MARK}`
}

/** Names that are no secret, and stand in logs. */
const NAMES: Readonly<Record<string, Json | undefined>> = {
  ...{ flow: 'secretiveV1', placement: 'runner', env: 'prod', pool: undefined, name: 'github' },
  ...{ queue: 'queuedv1', function: 'queuedv1', workerId: 'w1', kinds: ['press'], by: 'tester' },
  leaseSeconds: 60,
}

let requests = 0

async function send(operation: Operation, sent: Sent, bearer: string | undefined, accept = '*/*') {
  const { path, query = {}, body, headers = {} } = sent
  const search = new URLSearchParams(query).toString()
  const response = await fetch(`${server.url}${path}${search === '' ? '' : `?${search}`}`, {
    method: operation.method,
    headers: {
      ...{ accept, 'x-forwarded-for': `10.${++requests >> 8}.${requests & 255}.1` },
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) await response.body!.getReader().cancel()
  return { status: response.status, text: response.bodyUsed ? '' : await response.text() }
}

const callerOf = ({ access }: Operation) =>
  access === 'operator' ? OPERATOR : access === 'metrics' ? METRICS : access === 'public' ? undefined : token

const api = async (method: string, path: string, body?: Json) =>
  JSON.parse((await send({ method } as Operation, { path, ...(body === undefined ? {} : { body }) }, token)).text)

const startRun = async (flow: string) =>
  (
    await api('POST', '/api/runs', {
      flow,
      input: MARKED,
      placement: 'runner',
      idempotencyKey: `${MARK} ${Math.random()}`,
    })
  ).runId as string

/** A run that waits. */
async function waitingRun(): Promise<string> {
  const runId = await startRun('secretiveV1')
  await until(
    () => api('GET', `/api/runs/${runId}`),
    ({ status }) => status === 'paused',
  )
  return runId
}

/** A job that worker w1 has claimed. */
async function claimedJob(): Promise<{ jobId: string; attempt: number }> {
  await startRun('pressedV1')
  const { job } = await api('POST', '/api/worker-jobs/claim', { workerId: 'w1', kinds: ['press'] })
  return { jobId: job.jobId, attempt: job.attempt }
}

/** What of a request no schema can tell. */
const RECIPES: Readonly<Record<string, (runId: string) => Promise<Partial<Sent> & { known?: typeof NAMES }>>> = {
  signIn: async () => ({ known: { token } }),
  redeemSignInLink: async () => ({ known: { code: new URL(server.signInLink()!).hash.replace('#code=', '') } }),
  resumeWithToken: async (runId) => ({
    known: { token: (await api('POST', `/api/runs/${runId}/waits/decide/token`, {})).token },
  }),
  claimWorkerJob: async () => {
    await startRun('pressedV1')
    return { known: { waitSeconds: 20 } }
  },
  ...Object.fromEntries(
    ['heartbeatWorkerJob', 'completeWorkerJob', 'failWorkerJob'].map((id) => [
      id,
      async () => ({ known: await claimedJob() }),
    ]),
  ),
  receiveWebhook: async () => {
    const signature = createHmac('sha256', HOOK).update(JSON.stringify(MARKED)).digest('hex')
    const headers = { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': `delivery ${MARK}` }
    return { body: MARKED, headers: { ...headers, 'x-github-event': 'push' } }
  },
  // Pausing is of flows that are compiled.
  pauseFlow: async () => ({ known: { flow: 'queuedV1' } }),
  resumeFlow: async () => ({ known: { flow: 'queuedV1' } }),
}

const takesRun = ({ id, path, body }: Operation) =>
  path.includes('{runId}') || body?.properties?.runIds !== undefined || id === 'resumeWithToken'

/** A request that its endpoint takes. */
async function goodRequest({ id, path, parameters, body }: Operation, runId: string): Promise<Sent> {
  const { known: more = {}, ...rest } = (await RECIPES[id]?.(runId)) ?? {}
  const step = path.includes('/waits/') ? 'decide' : 'make'
  const known = { ...NAMES, runId, step, runIds: [runId], ...more }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(markedValue({}, known, name))))
  const isSearchable = parameters.some(({ name }) => name === 'q')
  return {
    path: filled,
    ...(isSearchable ? { query: { q: MARK } } : {}),
    ...(body === undefined ? {} : { body: markedValue(body, known)! }),
    ...rest,
  }
}

/** The same with a mark in every place that a client fills. */
function markedRequest({ path, parameters, body }: Operation): Sent {
  const queries = parameters.filter((each) => each.in === 'query')
  return {
    path: path.replaceAll(/\{\w+\}/g, `${MARK}%2F`),
    query: Object.fromEntries(queries.map(({ name }) => [name, MARK])),
    ...(body === undefined ? {} : { body: { ...(markedValue(body, {}) as object), [MARK]: MARK } }),
  }
}

const said = () => JSON.stringify(server.log) + written.join('\n')

afterEach(() => {
  const text = said()
  for (const of of [MARK, token, new URL(url).password, storage.env.SUPABASE_SERVICE_ROLE_KEY!]) {
    expect(text.includes(of) ? text.slice(text.indexOf(of) - 300, text.indexOf(of) + 100) : '').toBe('')
  }
})

describe.each(operations)('$method $path', (operation) => {
  const answered = () =>
    server.log.filter(({ message, endpoint }) => message === 'answered' && endpoint === operation.id)

  test('takes what has a mark, and logs its answer without', async () => {
    const sent = await goodRequest(operation, takesRun(operation) ? await waitingRun() : '')
    const { status, text } = await send(operation, sent, callerOf(operation))
    expect([Math.floor(status / 100), text]).toEqual([2, expect.anything()])
    if (operation.isStreamable) {
      const streamed = await send(operation, sent, callerOf(operation), 'text/event-stream')
      expect(streamed.status).toBe(200)
    }
    expect(answered().length).toBeGreaterThan(0)
  })

  test('refuses what is not good, secrets that are none among it, and logs no part of it', async () => {
    const sent = markedRequest(operation)
    const before = answered().length
    await send(operation, sent, callerOf(operation))
    await send(operation, { ...sent, headers: { 'content-type': MARK } }, callerOf(operation))
    await send(operation, sent, `sft_${MARK}`)
    await send(
      operation,
      { ...sent, headers: { cookie: `starflow_session=${MARK}`, 'starflow-workspace': MARK } },
      undefined,
    )
    expect(answered().length).toBe(before + 4)
  })
})

test('a run that fails says no part of its error', async () => {
  const runId = await startRun('failingV1')
  await until(
    () => api('GET', `/api/runs/${runId}`),
    ({ status }) => status === 'error',
  )
  expect((await api('GET', `/api/runs/${runId}`)).error).toContain(MARK)
  expect(server.log).toContainEqual(expect.objectContaining({ message: 'node.failed', runId }))
})

test('a store that is broken is said with the kind of the error and where it was thrown, and no more', async () => {
  const runId = await waitingRun()
  const good: { operation: Operation; sent: Sent }[] = []
  for (const operation of operations) good.push({ operation, sent: await goodRequest(operation, runId) })
  for (const table of ['starflow.workflow_runs', 'pgflow.runs', 'starflow.worker_jobs']) {
    await sql.unsafe(`alter table ${table} rename to gone_${table.split('.')[1]}`)
  }
  const statuses = await Promise.all(
    good.map(async ({ operation, sent }) => (await send(operation, sent, callerOf(operation))).status),
  )
  expect(statuses.filter((status) => status >= 500).length).toBeGreaterThan(10)
  expect(server.log).toContainEqual(expect.objectContaining({ message: 'a request failed', error: 'PostgresError' }))
  for (const table of ['starflow.workflow_runs', 'pgflow.runs', 'starflow.worker_jobs']) {
    await sql.unsafe(`alter table ${table.replace('.', '.gone_')} rename to ${table.split('.')[1]}`)
  }
})
