import type { SpanContext } from '@opentelemetry/api'

/**
 * The header of W3C Trace Context that says which span something belongs to: version, trace, span, flags. All that travels with a run:
 * a later version than 00 may say more, and is read as far as it is known.
 */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** Whether a text from outside can be one. */
export function isTraceparent(text: string | null | undefined): text is string {
  return text != null && text.length <= 128 && TRACEPARENT.test(text)
}

/** Undefined for anything else. */
export function spanContextOf(traceparent: string | null | undefined): SpanContext | undefined {
  if (!isTraceparent(traceparent)) return undefined
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent)!
  return { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true }
}

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
