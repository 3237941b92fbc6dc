import { expect, it } from 'vitest'
import { readOtelSettings } from './otel-settings.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

it.each([
  ['nothing', {}],
  ['the exporter none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ['a disabled SDK', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
  ['empty variables', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ', OTEL_TRACES_EXPORTER: '' }],
  ['what is for metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318' }],
])('%s asks for no traces', (_, env) => {
  expect(readOtelSettings(env)).toBeUndefined()
})

it('an address, or an exporter, asks for traces', () => {
  expect(readOtelSettings(ENDPOINT)).toEqual({ exporters: ['otlp'], protocol: 'http/protobuf' })
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  expect(readOtelSettings(traces)).toEqual({ exporters: ['otlp'], protocol: 'http/json' })
  const both = { OTEL_TRACES_EXPORTER: 'otlp, console' }
  expect(readOtelSettings(both)?.exporters).toEqual(['otlp', 'console'])
})

it.each([
  ['OTEL_TRACES_EXPORTER', { OTEL_TRACES_EXPORTER: 'jaeger' }],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
])('%s that cannot be set up is refused with what can', (variable, env) => {
  expect(() => readOtelSettings(env)).toThrow(expect.objectContaining({ code: 'SF951', fields: { variable } }))
})
