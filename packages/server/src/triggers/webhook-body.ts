import { type Json, parseExactJson } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { isNestedTooDeeply } from '../http/storable-json.ts'
import { MAX_JSON_DEPTH } from '../numbers.ts'

/**
 * What a signed body says: JSON, or the fields of a form. A form whose field `payload` is JSON is that JSON, as senders do who
 * know forms only. Numbers that JavaScript would round have a stand-in, which no input may have (see parseExactJson).
 *
 * @throws StarflowError SF923, SF924
 */
export function parseWebhookBody(rawBody: Uint8Array, contentType: string): Json {
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type)) return parseJson(textOf(rawBody))
  if (type === 'application/x-www-form-urlencoded') return parseForm(textOf(rawBody))
  throw new StarflowError({
    code: 'SF924',
    message: 'This webhook cannot read that content type.',
    detail: 'It reads application/json, what ends in +json, and application/x-www-form-urlencoded.',
    hint: 'Let the sender send one of them.',
  })
}

function parseForm(text: string): Json {
  const fields: Record<string, Json> = Object.create(null)
  // Of a field that is there twice the first counts, as it does for whoever looks with get().
  const form = new URLSearchParams(text)
  for (const [key, value] of form) fields[key] ??= value
  const payload = form.get('payload')
  return payload?.startsWith('{') ? parseJson(payload) : { ...fields }
}

function parseJson(text: string): Json {
  let body: Json
  try {
    body = parseExactJson(text) as Json
  } catch {
    // What the parser says quotes the text, which may be anybody's business.
    throw unreadable('It is not JSON.')
  }
  if (isNestedTooDeeply(body)) throw unreadable(`It is nested more than ${MAX_JSON_DEPTH} levels deep.`)
  return body
}

function textOf(rawBody: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(rawBody)
  } catch {
    throw unreadable('It is not UTF-8.')
  }
}

function unreadable(detail: string): StarflowError {
  return new StarflowError({
    code: 'SF923',
    message: 'The body of the delivery cannot be read.',
    detail,
    hint: 'Let the sender send what its content type says. Nothing was started.',
  })
}
