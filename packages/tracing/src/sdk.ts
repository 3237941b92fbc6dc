import { StarflowError } from '@starflow/errors'
import { type OtelSettings, readOtelSettings } from './otel-settings.ts'
import { openTracing, type Tracing } from './tracing.ts'

/** The tracing of a program, and its end. */
export interface StartedTracing {
  readonly tracing: Tracing
  /** Sends what has ended, for the last time. */
  shutdown(): Promise<void>
}

/**
 * Registers an OpenTelemetry SDK by the standard OTEL_ variables, and gives the tracing of this program; undefined where they do not ask for
 * traces, and then nothing of it is loaded. An SDK that is registered already is used as it is.
 *
 * @param serviceName unless the environment says another one
 * @throws StarflowError SF951 for what it cannot do, SF952 where the SDK is not installed
 */
export async function startTracing(
  env: Readonly<Record<string, string | undefined>>,
  serviceName: string,
): Promise<StartedTracing | undefined> {
  const registered = await openTracing()
  // Whoever has registered it ends it.
  if (registered !== undefined) return { tracing: registered, shutdown: () => registered.flush() }
  const settings = readOtelSettings(env)
  if (settings === undefined) return undefined
  const shutdown = await register(settings, serviceName).catch((cause: unknown) => {
    throw notInstalled(cause)
  })
  return { tracing: (await openTracing())!, shutdown }
}

async function register({ exporters, protocol }: OtelSettings, serviceName: string): Promise<() => Promise<void>> {
  const [{ BatchSpanProcessor, ConsoleSpanExporter, NodeTracerProvider, SimpleSpanProcessor }, resources] =
    await Promise.all([import('@opentelemetry/sdk-trace-node'), import('@opentelemetry/resources')])
  const { detectResources, envDetector, resourceFromAttributes } = resources
  const spanProcessors = await Promise.all(
    exporters.map(async (exporter) =>
      exporter === 'console'
        ? new SimpleSpanProcessor(new ConsoleSpanExporter())
        : new BatchSpanProcessor(await otlpExporter(protocol)),
    ),
  )
  const provider = new NodeTracerProvider({
    spanProcessors,
    resource: resourceFromAttributes({ 'service.name': serviceName }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
  })
  // Also how contexts are kept and headers are written, for whatever else in this program speaks OpenTelemetry.
  provider.register()
  return () => provider.shutdown()
}

async function otlpExporter(protocol: OtelSettings['protocol']) {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter()
}

function notInstalled(cause: unknown): StarflowError {
  return new StarflowError({
    code: 'SF952',
    message: 'Traces are asked for, and the OpenTelemetry SDK cannot be loaded.',
    detail: cause instanceof Error ? cause.message : String(cause),
    hint: 'Install @opentelemetry/sdk-trace-node, @opentelemetry/resources and @opentelemetry/exporter-trace-otlp-proto (for http/json: -otlp-http).',
    cause,
  })
}
