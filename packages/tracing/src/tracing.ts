import type * as OpenTelemetry from '@opentelemetry/api'
import { spanContextOf, traceparentOf } from './traceparent.ts'

/** How a span begins. Attributes are names, identifiers and counts; never what a run was given, or the text of an error. */
export interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'producer' | 'consumer' | 'internal'
  /** The traceparent of another process's span; null and undefined: the active one, if any. */
  readonly parent?: string | null | undefined
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>
}

/** A span that has begun. */
export interface OpenSpan {
  /** What makes spans of other processes its children. */
  readonly traceparent: string
  /** Does work as a part of it: spans that begin meanwhile are its children. */
  run<T>(work: () => T): T
  set(attributes: SpanStart['attributes']): void
  /** Marks it as failed, with the kind of the error. */
  fail(errorType: string): void
  end(): void
}

/** The spans of this program. */
export interface Tracing {
  begin(start: SpanStart): OpenSpan
  /** Does work within a span that ends with it; what it throws marks the span as failed. */
  inSpan<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>
  /** The traceparent of the active span; null without one. */
  active(): string | null
  /** Sends what has ended. For a program that may end at any moment. */
  flush(): Promise<void>
}

/** Where every copy of OpenTelemetry's API of this major version keeps what was registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')
const SCOPE = '@starflow'

/**
 * The tracing of a program in which an OpenTelemetry SDK is registered; undefined in one without. Then nothing of OpenTelemetry is even
 * loaded.
 */
export async function openTracing(): Promise<Tracing | undefined> {
  const registered = (globalThis as { [REGISTERED]?: { readonly trace?: unknown } })[REGISTERED]
  return registered?.trace === undefined ? undefined : new RegisteredTracing(await import('@opentelemetry/api'))
}

class RegisteredTracing implements Tracing {
  readonly #api: typeof OpenTelemetry
  readonly #tracer: OpenTelemetry.Tracer

  constructor(api: typeof OpenTelemetry) {
    this.#api = api
    this.#tracer = api.trace.getTracer(SCOPE)
  }

  begin({ name, kind, parent, attributes }: SpanStart): OpenSpan {
    const { trace, context, ROOT_CONTEXT, SpanKind } = this.#api
    const remote = spanContextOf(parent)
    const within = remote === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, remote)
    const kinds = {
      ...{ server: SpanKind.SERVER, producer: SpanKind.PRODUCER },
      ...{ consumer: SpanKind.CONSUMER, internal: SpanKind.INTERNAL },
    }
    const span = this.#tracer.startSpan(name, { kind: kinds[kind], attributes: defined(attributes) }, within)
    return new BegunSpan(this.#api, span, trace.setSpan(within, span))
  }

  async inSpan<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
    const span = this.begin(start)
    try {
      return await span.run(() => work(span))
    } catch (error) {
      span.fail(errorTypeOf(error))
      throw error
    } finally {
      span.end()
    }
  }

  active(): string | null {
    const context = this.#api.trace.getSpanContext(this.#api.context.active())
    return context !== undefined && this.#api.isSpanContextValid(context) ? traceparentOf(context) : null
  }

  async flush(): Promise<void> {
    // The provider of the SDK stands behind the one of the API, and only it can.
    const { trace } = this.#api
    const provider = trace.getTracerProvider() as { getDelegate?(): { forceFlush?(): Promise<void> } }
    await provider.getDelegate?.().forceFlush?.()
  }
}

class BegunSpan implements OpenSpan {
  readonly #api: typeof OpenTelemetry
  readonly #span: OpenTelemetry.Span
  readonly #context: OpenTelemetry.Context

  constructor(api: typeof OpenTelemetry, span: OpenTelemetry.Span, context: OpenTelemetry.Context) {
    this.#api = api
    this.#span = span
    this.#context = context
  }

  get traceparent(): string {
    return traceparentOf(this.#span.spanContext())
  }

  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work)
  }

  set(attributes: SpanStart['attributes']): void {
    this.#span.setAttributes(defined(attributes))
  }

  fail(errorType: string): void {
    this.#span.setAttribute('error.type', errorType)
    this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR })
  }

  end(): void {
    this.#span.end()
  }
}

/** Its code where it has one of ours, else its name. Its message may quote a payload. */
function errorTypeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  if (typeof code === 'string' && code !== '') return code
  return typeof name === 'string' ? name : typeof error
}

function defined(attributes: SpanStart['attributes']): OpenTelemetry.Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}
