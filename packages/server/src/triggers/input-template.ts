import type { Json, JsonObject } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { pointerParts, valueAt } from './json-pointer.ts'

/** What a template may take from: a delivery that proved its sender. */
export interface TemplateSource {
  readonly body: Json
  readonly headers: Headers
  readonly delivery: string
  readonly receivedAt: string
}

/** They prove who sends: a run's input is shown to whoever may see the run. */
const SECRET_HEADERS = /^(?:authorization|proxy-authorization|cookie|apikey|.*(?:signature|token|secret|api-key).*)$/i

export function isReadablePointer(pointer: unknown): boolean {
  if (typeof pointer !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)+$/.test(pointer)) return false
  const [root, header, ...rest] = pointerParts(pointer)
  if (root === 'body') return true
  if (root === 'headers')
    return header !== undefined && header !== '' && rest.length === 0 && !SECRET_HEADERS.test(header)
  return (root === 'delivery' || root === 'receivedAt') && header === undefined
}

/**
 * Fills a template: each object with `$from` becomes what is at its pointer, everything else stays as it is. No expression, no
 * code: what a sender writes can only become a value.
 *
 * @throws StarflowError SF923 when nothing is there, and no default
 */
export function fillTemplate(template: Json, source: TemplateSource): Json {
  if (Array.isArray(template)) return template.map((each) => fillTemplate(each, source))
  if (typeof template !== 'object' || template === null) return template
  if ('$from' in template) return taken(template as JsonObject, source)
  // Defined, not assigned: a key may be called __proto__.
  return Object.fromEntries(
    Object.entries(template as JsonObject).map(([key, each]) => [key, fillTemplate(each ?? null, source)]),
  )
}

function taken(placeholder: JsonObject, source: TemplateSource): Json {
  const pointer = String(placeholder.$from)
  const found = valueIn(source, pointerParts(pointer))
  if (found !== undefined) return found as Json
  if (Object.hasOwn(placeholder, '$default')) return placeholder.$default ?? null
  throw new StarflowError({
    code: 'SF923',
    message: 'The delivery does not have what its flow starts with.',
    detail: `There is nothing at ${pointer}.`,
    hint: 'Let the sender send it, or give it a $default in starflow.yaml. Nothing was started.',
    fields: { pointer },
  })
}

function valueIn(source: TemplateSource, [root, ...rest]: readonly string[]): unknown {
  if (root === 'body') return valueAt(source.body, rest)
  if (root === 'headers') return source.headers.get(rest[0]!) ?? undefined
  return root === 'delivery' ? source.delivery : source.receivedAt
}
