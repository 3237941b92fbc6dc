import { ERROR_CODES } from './codes.ts'

export const MAX_ERROR_MESSAGE_LENGTH = 10_000
export const MAX_ERROR_STACK_LENGTH = 10_000
const MAX_ERROR_NAME_LENGTH = 200

/** What is kept of something a handler threw: plain bounded text that Postgres can store. */
export interface DescribedError {
  readonly name: string
  readonly message: string
  readonly stack?: string
}

/**
 * Describes whatever was thrown. Never throws itself: not for null, not for an object whose properties throw, not for a
 * cause that is its own cause.
 */
export function describeError(thrown: unknown): DescribedError {
  try {
    if (typeof thrown === 'object' && thrown !== null) return describeObject(thrown)
    const shown = typeof thrown === 'function' ? 'a function' : String(thrown)
    return {
      name: 'NonErrorThrown',
      message: storableText(
        typeof thrown === 'string' ? thrown : `The handler threw ${shown}.`,
        MAX_ERROR_MESSAGE_LENGTH,
      ),
    }
  } catch {
    return { name: 'UnreadableError', message: 'The handler threw a value that cannot be read.' }
  }
}

/** Cuts to `limit` characters and replaces what Postgres text cannot hold: NUL and lone surrogates. */
function storableText(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit - 1)}…` : text
  // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is looked for.
  return cut.replace(/\u0000|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, '\uFFFD')
}

function describeObject(thrown: object): DescribedError {
  const name = textProperty(thrown, 'name') ?? 'NonErrorThrown'
  const stack = textProperty(thrown, 'stack')
  return {
    name: storableText(name, MAX_ERROR_NAME_LENGTH),
    message: storableText(messageWithCauses(thrown) + hintOf(thrown), MAX_ERROR_MESSAGE_LENGTH),
    ...(stack === undefined ? {} : { stack: storableText(stack, MAX_ERROR_STACK_LENGTH) }),
  }
}

/** The message, and those of up to three causes: a "fetch failed" alone helps nobody. */
function messageWithCauses(thrown: object): string {
  const parts: string[] = []
  const seen = new Set<unknown>()
  let current: unknown = thrown
  while (typeof current === 'object' && current !== null && !seen.has(current) && parts.length < 4) {
    seen.add(current)
    const message = textProperty(current, 'message')
    if (message !== undefined && message !== '') parts.push(message.slice(0, MAX_ERROR_MESSAGE_LENGTH + 1))
    current = property(current, 'cause')
  }
  if (parts.length > 0) return parts.join(' (caused by) ')
  return textProperty(thrown, 'name') ?? 'The handler threw an object without a message.'
}

/** A refusal of our own says what to do, also to whoever only reads the attempt's row. */
function hintOf(thrown: object): string {
  const code = textProperty(thrown, 'code')
  const hint = textProperty(thrown, 'hint')
  return code !== undefined && Object.hasOwn(ERROR_CODES, code) && hint !== undefined ? ` Hint: ${hint}` : ''
}

function textProperty(target: object, key: string): string | undefined {
  const value = property(target, key)
  return typeof value === 'string' ? value : undefined
}

function property(target: object, key: string): unknown {
  try {
    return (target as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}
