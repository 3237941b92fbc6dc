import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { trace } from '@opentelemetry/api'
import { resolveDenoBinary } from '@starflow/local'
import { afterAll, expect, test } from 'vitest'
import { otlpReceiver, type ReceivedSpan } from '../../../tests/support/otlp-receiver.ts'
import { PAYLOAD, parcels } from './support/parcels.ts'
import { testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

const storage = await testStorage('supabase')
const { sql, url } = storage.database!

// A server that starts before anything of OpenTelemetry is registered: it has no tracing.
const plain = await testServer(storage, { STARFLOW_ROLE: 'edge' }, { flows: [] })

const receiver = await otlpReceiver()
Object.assign(process.env, receiver.env)
const flow = parcels((work) => trace.getTracer('of the user').startActiveSpan('look at the parcel', work))
const server = await testServer(storage, receiver.env, { flows: [flow] })
const shop = await server.workspace('shop')

const worker: ChildProcess = spawn(
  resolveDenoBinary(),
  [
    ...[
      'run',
      '--no-prompt',
      '--cached-only',
      '--node-modules-dir=manual',
      '--allow-net',
      '--allow-env',
      '--allow-sys',
    ],
    ...['--allow-read', fileURLToPath(new URL('./support/traced-worker.ts', import.meta.url))],
  ],
  {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...receiver.env,
      SUPABASE_DB_URL: url,
      STARFLOW_AUTH_SECRET: 's3cret',
      DENO_NO_UPDATE_CHECK: '1',
    },
  },
)
afterAll(() => void worker.kill('SIGKILL'))
const workerPort = await new Promise<string>((resolve) => {
  createInterface({ input: worker.stdout! }).on('line', (line) => {
    const [, port] = /^listening (\d+)/.exec(line) ?? []
    if (port !== undefined) resolve(port)
  })
})
// When it has started, its flow is compiled: from then on a start goes to step queues.
const answer = await fetch(`http://127.0.0.1:${workerPort}/parcels`, { headers: { apikey: 's3cret' } })
expect(await answer.json()).toMatchObject({ status: 'started' })

/** A span of somebody who calls the server. */
function caller() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` }
}

async function start(traceparent: string, placement: 'queue' | 'runner', isBroken = false) {
  const input = { note: PAYLOAD, isBroken }
  const { status, body } = await shop.with({ traceparent }).post('/api/runs', { flow: 'parcelsV1', input, placement })
  expect([status, body.placement]).toEqual([201, placement])
  return body.runId as string
}

const NAMES = [
  'POST /api/runs',
  'start parcelsV1',
  'execute parcelsV1.pack',
  'look at the parcel',
  'execute parcelsV1.ship',
]

function parentsOf([request, started, pack, look, ship]: readonly ReceivedSpan[]) {
  return {
    request: request!.parentSpanId,
    started: started!.parentSpanId === request!.spanId,
    pack: pack!.parentSpanId === started!.spanId,
    look: look!.parentSpanId === pack!.spanId,
    ship: ship!.parentSpanId === started!.spanId,
  }
}

test('a request, the start that it makes and the handlers of a worker in Deno are one trace', async () => {
  const { traceId, spanId, traceparent } = caller()
  const runId = await start(traceparent, 'queue')
  const spans = await receiver.trace(traceId, NAMES)
  expect(parentsOf(spans)).toEqual({ request: spanId, started: true, pack: true, look: true, ship: true })
  expect(spans.map(({ service }) => service)).toEqual([
    ...['starflow.server.api', 'starflow.server.api', 'starflow-worker', 'starflow-worker', 'starflow-worker'],
  ])
  const [request, started, pack] = spans
  expect(request!.attributes).toMatchObject({ 'http.route': '/api/runs', 'http.response.status_code': 201 })
  expect(started!.attributes).toMatchObject({ 'starflow.run_id': runId, 'starflow.placement': 'queue' })
  expect(pack!.attributes).toMatchObject({
    ...{ 'starflow.run_id': runId, 'starflow.step': 'pack', 'starflow.attempt': 1, 'starflow.outcome': 'completed' },
    'starflow.queue': 'parcelsv1',
  })
})

test('so are the nodes of a run on a runner', async () => {
  const { traceId, spanId, traceparent } = caller()
  const runId = await start(traceparent, 'runner')
  const spans = await receiver.trace(traceId, NAMES)
  expect(parentsOf(spans)).toEqual({ request: spanId, started: true, pack: true, look: true, ship: true })
  expect(spans[2]!.attributes).toMatchObject({
    ...{
      'starflow.run_id': runId,
      'starflow.placement': 'runner',
      'starflow.workspace': 'shop',
      'starflow.attempt': 1,
    },
    'starflow.runner_id': server.identity.runnerId,
  })
})

test('an attempt that fails says the kind of its error, and no span says what a run was given', async () => {
  for (const placement of ['queue', 'runner'] as const) {
    const { traceId, traceparent } = caller()
    await start(traceparent, placement, true)
    const [ship] = await receiver.trace(traceId, ['execute parcelsV1.ship'])
    expect(ship).toMatchObject({ hasFailed: true, attributes: { 'error.type': 'TypeError' } })
  }
  expect(receiver.text()).not.toContain(PAYLOAD)
})

test('a start that nobody asked for over HTTP begins a trace of its own', async () => {
  const { body } = await shop.post('/api/runs', { flow: 'parcelsV1', input: { note: PAYLOAD }, placement: 'runner' })
  const started = await until(
    async () => receiver.spans.find(({ attributes }) => attributes['starflow.run_id'] === body.runId),
    (span) => span !== undefined,
  )
  const spans = await receiver.trace(started!.traceId, NAMES)
  expect(parentsOf(spans)).toEqual({ request: undefined, started: true, pack: true, look: true, ship: true })
})

test('a server without tracing hands the span of its caller on to the run', async () => {
  const { traceId, spanId, traceparent } = caller()
  const { token } = await plain.token('shop')
  const client = plain.nobody.with({ authorization: `Bearer ${token}`, traceparent })
  const { body } = await client.post('/api/runs', { flow: 'parcelsV1', input: { note: PAYLOAD } })
  const [row] = await sql`select traceparent from pgflow.runs where run_id = ${body.runId}`
  expect(row).toEqual({ traceparent })
  const [pack] = await receiver.trace(traceId, ['execute parcelsV1.pack'])
  expect(pack!.parentSpanId).toBe(spanId)
  const junk = await client
    .with({ traceparent: '00-junk' })
    .post('/api/runs', { flow: 'parcelsV1', input: { note: '' } })
  const [other] = await sql`select traceparent from pgflow.runs where run_id = ${junk.body.runId}`
  expect(other).toEqual({ traceparent: null })
})
