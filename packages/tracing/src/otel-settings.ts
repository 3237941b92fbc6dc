import { StarflowError } from '@starflow/errors'

type Env = Readonly<Record<string, string | undefined>>

/** What the standard variables say of traces. */
export interface OtelSettings {
  readonly exporters: readonly ('otlp' | 'console')[]
  readonly protocol: 'http/protobuf' | 'http/json'
}

const EXPORTERS = ['otlp', 'console', 'none']
const PROTOCOLS = ['http/protobuf', 'http/json']

/**
 * Undefined where traces are not asked for: unless an address to send them to is set, or an exporter is. What the exporter, the
 * sampler and the batches go by, the SDK reads by itself.
 *
 * @throws StarflowError SF951
 */
export function readOtelSettings(env: Env): OtelSettings | undefined {
  if (textOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const endpoint = textOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? textOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const asked = textOf(env, 'OTEL_TRACES_EXPORTER') ?? (endpoint === undefined ? 'none' : 'otlp')
  const names = asked.split(',').map((name) => name.trim())
  for (const name of names) if (!EXPORTERS.includes(name)) throw unknown('OTEL_TRACES_EXPORTER', EXPORTERS)
  const exporters = names.filter((name): name is 'otlp' | 'console' => name !== 'none')
  if (exporters.length === 0) return undefined
  const protocol = textOf(env, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? textOf(env, 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== undefined && !PROTOCOLS.includes(protocol)) throw unknown('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS)
  return { exporters, protocol: protocol === 'http/json' ? 'http/json' : 'http/protobuf' }
}

/** An empty variable counts as unset. */
function textOf(env: Env, name: string): string | undefined {
  const text = env[name]?.trim()
  return text === '' ? undefined : text
}

function unknown(variable: string, known: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF951',
    message: `${variable} has a value that Starflow cannot use.`,
    detail: `It can be ${known.join(', ')}.`,
    hint: 'Use one of these, or register an OpenTelemetry SDK of your own before Starflow starts: it is used as it is.',
    fields: { variable },
  })
}
