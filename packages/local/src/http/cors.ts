import type { IncomingMessage, ServerResponse } from 'node:http'

const ALLOWED_METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE, OPTIONS'
const EXPOSED_HEADERS = 'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Range-Unit'
const MAX_AGE_SECONDS = 86_400

/**
 * Lets pages of any origin ask, as a hosted project does: what guards the API is the key, never a cookie. Answers the
 * question that browsers ask before the request, and gives true then.
 */
export function answersPreflight(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  outgoing.setHeader('access-control-allow-origin', '*')
  outgoing.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
  if (incoming.method !== 'OPTIONS') return false
  outgoing.setHeader('access-control-allow-methods', ALLOWED_METHODS)
  outgoing.setHeader('access-control-allow-headers', incoming.headers['access-control-request-headers'] ?? '*')
  outgoing.setHeader('access-control-max-age', String(MAX_AGE_SECONDS))
  outgoing.writeHead(200).end()
  return true
}
