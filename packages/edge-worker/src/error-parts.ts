import { describeError, fromSqlError, isStarflowError } from '@starflow/errors'

/** The parts of a failure that go into an answer or the log: whatever was thrown has a code and a message then. */
export interface ErrorParts {
  readonly code: string
  readonly message: string
  readonly detail?: string
  readonly hint?: string
}

export function errorParts(error: unknown): ErrorParts {
  const ours = isStarflowError(error) ? error : fromSqlError(error)
  if (ours !== undefined) {
    return {
      code: ours.code,
      message: ours.message,
      ...(ours.detail === undefined ? {} : { detail: ours.detail }),
      ...(ours.hint === undefined ? {} : { hint: ours.hint }),
    }
  }
  const { name, message } = describeError(error)
  const code = (error as { code?: unknown } | null | undefined)?.code
  return { code: typeof code === 'string' ? code : name, message: message.slice(0, 1000) }
}
