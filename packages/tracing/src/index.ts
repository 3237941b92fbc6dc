export {
  catchStrayFailures,
  type HandlerScope,
  inHandlerScope,
  strayFailure,
  strayLog,
} from './handler-scope.ts'
export { isTraceparent } from './traceparent.ts'
export { type OpenSpan, openTracing, type SpanStart, type Tracing } from './tracing.ts'
