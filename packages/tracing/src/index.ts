export { isTraceparent } from './traceparent.ts'
export { type OpenSpan, openTracing, type SpanStart, type Tracing } from './tracing.ts'
