import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { otlpReceiver } from '../../../tests/support/otlp-receiver.ts'
import { openTracing } from '../src/index.ts'
import { startTracing } from '../src/sdk.ts'

/** What of OpenTelemetry this process has loaded. */
const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('@opentelemetry'))

const receiver = await otlpReceiver()

/** The SDK reads the environment of the process by itself. */
function stub(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  return env
}

afterEach(async () => {
  vi.unstubAllEnvs()
  if (loaded().length === 0) return
  const { context, propagation, trace } = await import('@opentelemetry/api')
  for (const each of [context, propagation, trace]) each.disable()
})

// The first one: what is loaded once stays.
test('without the variables there is no tracing, and nothing of OpenTelemetry is loaded', async () => {
  expect(await startTracing({}, 'quiet')).toBeUndefined()
  expect(await openTracing()).toBeUndefined()
  expect(loaded()).toEqual([])
})

test('spans have parents, names and attributes, and what has ended is sent at the end at the latest', async () => {
  const started = await startTracing(stub({ ...receiver.env, OTEL_BSP_SCHEDULE_DELAY: '60000' }), 'shop')
  const { tracing } = started!
  expect(tracing.active()).toBeNull()
  const outer = await tracing.inSpan(
    { name: 'outer', kind: 'server', attributes: { 'starflow.flow': 'a', 'starflow.step': undefined } },
    async (span) => {
      expect(tracing.active()).toBe(span.traceparent)
      const inner = tracing.begin({ name: 'inner', kind: 'internal', attributes: {} })
      inner.end()
      return span.traceparent
    },
  )
  const failing = { name: 'failing', kind: 'consumer', parent: outer, attributes: {} } as const
  const failure = Object.assign(new RangeError('a message that is nobody’s business'), { code: 'SF203' })
  await expect(tracing.inSpan(failing, () => Promise.reject(failure))).rejects.toBe(failure)
  await started!.shutdown()
  const [first, second, third] = await receiver.trace(outer.split('-')[1], ['outer', 'inner', 'failing'])
  expect(first).toMatchObject({ service: 'shop', parentSpanId: undefined, attributes: { 'starflow.flow': 'a' } })
  expect(Object.keys(first!.attributes)).toEqual(['starflow.flow'])
  expect(second!.parentSpanId).toBe(first!.spanId)
  expect(third).toMatchObject({ parentSpanId: first!.spanId, hasFailed: true, attributes: { 'error.type': 'SF203' } })
  expect(receiver.text()).not.toContain('nobody')
})

test('the name of the service and the sampler are those of the environment', async () => {
  const env = { ...receiver.env, OTEL_SERVICE_NAME: 'named', OTEL_TRACES_SAMPLER: 'always_off' }
  const started = await startTracing(stub(env), 'unnamed')
  const span = started!.tracing.begin({ name: 'unsampled', kind: 'producer', attributes: {} })
  // The decision travels along: whoever goes on with it keeps nothing either.
  expect(span.traceparent).toMatch(/-00$/)
  span.end()
  await started!.shutdown()
  expect(receiver.spans.filter(({ name }) => name === 'unsampled')).toEqual([])
})

test('protobuf is sent where nothing else is asked for', async () => {
  const types: (string | undefined)[] = []
  const collector = createServer((request, response) => {
    types.push(request.headers['content-type'])
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  afterAll(() => void collector.close())
  const { port } = collector.address() as { port: number }
  const started = await startTracing(stub({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }), 'shop')
  started!.tracing.begin({ name: 'any', kind: 'internal', attributes: {} }).end()
  await started!.shutdown()
  expect(types).toEqual(['application/x-protobuf'])
})

test('an SDK that is registered already is used as it is, and not ended', async () => {
  const { NodeTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = await import(
    '@opentelemetry/sdk-trace-node'
  )
  const exporter = new InMemorySpanExporter()
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
  const started = await startTracing({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'shop')
  await started!.shutdown()
  started!.tracing.begin({ name: 'kept', kind: 'internal', attributes: {} }).end()
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['kept'])
})
