import { ERROR_CODES, type ErrorCode } from './codes.ts'

/** The four parts of every refusal, and the values it speaks of. */
export interface StarflowErrorParts {
  readonly code: ErrorCode
  /** What failed, with the names. One sentence. */
  readonly message: string
  /** The numbers and facts behind it. */
  readonly detail?: string | undefined
  /** The shortest way out. */
  readonly hint?: string | undefined
  /** The values the message speaks of, for programs. Never a payload or a secret. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  readonly cause?: unknown
}

/**
 * A refusal that a person or a program can act on. Recognise it with {@link isStarflowError} by its code: that survives
 * two copies of this package and a trip through JSON.
 *
 * @example
 * throw new StarflowError({ code: 'SF201', message: 'Flow "orders" does not exist.', hint: 'Start one of its workers.' })
 */
export class StarflowError extends Error {
  readonly code: ErrorCode
  // Declared only: a part that is not given is absent, not undefined.
  declare readonly detail?: string
  declare readonly hint?: string
  readonly fields: Readonly<Record<string, unknown>>

  constructor(parts: StarflowErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause })
    this.code = parts.code
    this.name = ERROR_CODES[parts.code]
    if (parts.detail !== undefined) this.detail = parts.detail
    if (parts.hint !== undefined) this.hint = parts.hint
    this.fields = Object.freeze({ ...parts.fields })
  }

  /** The parts as plain JSON, for HTTP answers, logs and `--json` output. */
  toJSON(): { code: ErrorCode; name: string; message: string; detail?: string; hint?: string; fields: unknown } {
    return {
      code: this.code,
      name: this.name,
      message: this.message,
      ...(this.detail === undefined ? {} : { detail: this.detail }),
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      fields: this.fields,
    }
  }
}

/**
 * True for a StarflowError of any copy of this package, and for its JSON; with `code`, only for that one. Never throws: what
 * a handler threw may have properties that do.
 */
export function isStarflowError(value: unknown, code?: ErrorCode): value is StarflowError {
  const found = codeOf(value)
  return typeof found === 'string' && Object.hasOwn(ERROR_CODES, found) && (code === undefined || found === code)
}

function codeOf(value: unknown): unknown {
  try {
    return typeof value === 'object' && value !== null ? (value as { code?: unknown }).code : undefined
  } catch {
    return undefined
  }
}
