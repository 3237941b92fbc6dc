import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { ApiSettings } from './api-settings.ts'
import { acceptedMediaType, type MediaType } from './media-type.ts'
import { type Preferences, parsePreferences } from './preferences.ts'
import { RestError } from './rest-error.ts'
import { parseRangeHeader, type RowRange } from './rest-query.ts'

export type RestMethod = 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'

/** A request, parsed but for its query, of which a part may be arguments of a function. */
export interface RestRequest {
  readonly method: RestMethod
  readonly target: { readonly kind: 'table' | 'function'; readonly name: string }
  readonly schema: string
  readonly pairs: readonly (readonly [string, string])[]
  readonly rangeHeader: RowRange | undefined
  readonly preferences: Preferences
  readonly mediaType: MediaType
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

const METHODS: Readonly<Record<RestRequest['target']['kind'], readonly string[]>> = {
  table: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  function: ['GET', 'HEAD', 'POST'],
}

/** `url` is what follows `/rest/v1`. */
export function parseRestRequest(incoming: IncomingMessage, url: URL, { schemas }: ApiSettings): RestRequest {
  const target = targetOf(url.pathname)
  const { method = '', headers } = incoming
  if (!METHODS[target.kind].includes(method)) {
    throw new RestError({ status: 405, code: 'PGRST117', message: `Unsupported HTTP method: ${method}` })
  }
  const isRead = method === 'GET' || method === 'HEAD'
  return {
    method: method as RestMethod,
    target,
    schema: schemaOf(textOf(headers[isRead ? 'accept-profile' : 'content-profile']), schemas),
    pairs: [...url.searchParams],
    rangeHeader: method === 'GET' ? parseRangeHeader(headers.range) : undefined,
    preferences: parsePreferences(textOf(headers.prefer)),
    mediaType: acceptedMediaType(headers.accept),
    path: url.pathname,
    headers,
  }
}

function targetOf(pathname: string): RestRequest['target'] {
  const segments = pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded)
  const [first, second] = segments
  if (first === undefined) {
    throw new RestError({ status: 404, code: 'PGRST126', message: 'Root endpoint metadata is disabled' })
  }
  if (segments.length === 1) return { kind: 'table', name: first }
  if (segments.length === 2 && first === 'rpc') return { kind: 'function', name: second as string }
  throw invalidPath()
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidPath()
  }
}

function invalidPath(): RestError {
  return new RestError({ status: 404, code: 'PGRST125', message: 'Invalid path specified in request URL' })
}

function schemaOf(profile: string | undefined, schemas: readonly string[]): string {
  const schema = profile ?? schemas[0]
  if (schema !== undefined && schemas.includes(schema)) return schema
  throw new RestError({
    status: 406,
    code: 'PGRST106',
    message: `Invalid schema: ${schema ?? '(none)'}`,
    hint: `Only the following schemas are exposed: ${schemas.join(', ')}`,
  })
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}
