import pino from 'pino'

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
  return pino({ level: options.level, base: { service: options.serviceId, role: options.role } })
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
