import pino from 'pino'
import { lineSink } from './line-sink.ts'
import { REPEATED_LINE_INTERVAL_MS } from './numbers.ts'

/** Structured lines with identifiers only: never a payload, an output, a token, or the text of an error. */
export interface ServerLog {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined | readonly string[]>>

export function createLog(options: {
  readonly level: string
  readonly serviceId: string
  readonly role: string
}): ServerLog {
  // Its own destination waits for the reader of a pipe, and for ever for one that is gone.
  return pino(
    { level: options.level, base: { service: options.serviceId, role: options.role } },
    lineSink(process.stdout),
  )
}

/** Says at once, then once in a while, what happens again and again: each time with how often it has happened since it was last said. */
export function saidOnceInAWhile(
  say: (error: unknown, times: number) => void,
  now: () => number,
): (error: unknown) => void {
  let [times, sayFrom] = [0, Number.NEGATIVE_INFINITY]
  return (error) => {
    times++
    if (now() < sayFrom) return
    say(error, times)
    times = 0
    sayFrom = now() + REPEATED_LINE_INTERVAL_MS
  }
}

/**
 * What a log may say of an error: its kind and where it was thrown. Its message may quote a payload, or a URL with a password.
 */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error }
  const { code } = error as { code?: unknown }
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    error: error.name,
    ...(typeof code === 'string' ? { errorCode: code } : {}),
    stack: frames.map((line) => line.trim()),
  }
}
