import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll } from 'vitest'

/** A span as it was sent. */
export interface ReceivedSpan {
  readonly name: string
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly hasFailed: boolean
}

/** Takes traces as a collector does, on loopback, in OTLP over HTTP as JSON. */
export interface OtlpReceiver {
  /** What a program sends its spans here by. */
  readonly env: Readonly<Record<string, string>>
  readonly spans: readonly ReceivedSpan[]
  /** Everything that came, as text. */
  readonly text: () => string
  /** Waits until there are spans of these names within one trace, and gives them in this order. */
  trace(traceId: string | undefined, names: readonly string[]): Promise<ReceivedSpan[]>
}

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

interface OtlpSpan extends Pick<ReceivedSpan, 'name' | 'traceId' | 'spanId' | 'parentSpanId'> {
  readonly attributes: readonly OtlpAttribute[]
  readonly status?: { readonly code?: number }
}

interface OtlpAttribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number; readonly boolValue?: boolean }
}

/** Call it at the top of the file; it ends with the file's tests. */
export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    bodies.push(body)
    spans.push(...received(JSON.parse(body) as OtlpTraces))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as { port: number }
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
    spans,
    text: () => bodies.join('\n'),
    trace: async (traceId, names) => {
      const deadline = Date.now() + 20_000
      for (;;) {
        const ids = traceId === undefined ? [...new Set(spans.map((span) => span.traceId))] : [traceId]
        for (const id of ids) {
          const found = names.map((name) => spans.find((span) => span.traceId === id && span.name === name))
          if (found.every((span) => span !== undefined)) return found
        }
        if (Date.now() > deadline)
          throw new Error(`Never came: ${names.join(', ')}. There are ${JSON.stringify(spans)}`)
        await pause(20)
      }
    },
  }
}

function received({ resourceSpans }: OtlpTraces): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name'])
    return scopeSpans.flatMap((scope) =>
      scope.spans.map(({ name, traceId, spanId, parentSpanId, attributes, status }) => ({
        ...{ name, service, traceId, spanId, parentSpanId: parentSpanId || undefined },
        ...{ attributes: valuesOf(attributes), hasFailed: status?.code === 2 },
      })),
    )
  })
}

function valuesOf(attributes: readonly OtlpAttribute[]): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.boolValue ?? '']),
  )
}
