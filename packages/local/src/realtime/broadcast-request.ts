import type { IncomingMessage } from 'node:http'
import { readBody } from '../http/read-body.ts'
import { type Broadcast, MAX_BROADCAST_BYTES } from './broadcast.ts'

/** Why a request for broadcasts cannot be followed. */
export interface BroadcastRefusal {
  readonly status: number
  readonly message: string
}

const ONE = /^\/api\/broadcast\/([^/]+)\/events\/([^/]+)$/
const MANY = '/api/broadcast'

/**
 * The broadcasts of a POST: one whose topic and event stand in the path and whose payload is the body, or a list of them.
 * Undefined where the path is another one.
 */
export async function parseBroadcastRequest(
  incoming: IncomingMessage,
  url: URL,
): Promise<readonly Broadcast[] | BroadcastRefusal | undefined> {
  const one = ONE.exec(url.pathname)
  if (one === null && url.pathname !== MANY) return undefined
  if (incoming.method !== 'POST') return { status: 405, message: 'Broadcasts are sent with POST.' }
  const body = await readBody(incoming, MAX_BROADCAST_BYTES)
  if (body === undefined) return { status: 413, message: `A broadcast has ${MAX_BROADCAST_BYTES} bytes at most.` }
  if (one === null) return parseMany(body)
  const topic = decoded(one[1] as string)
  const event = decoded(one[2] as string)
  if (topic === undefined || event === undefined) return { status: 400, message: 'The path cannot be decoded.' }
  const isPrivate = url.searchParams.get('private') === 'true'
  if (incoming.headers['content-type']?.startsWith('application/octet-stream') === true) {
    return [{ topic, isPrivate, event, payload: { bytes: body } }]
  }
  const json = body.toString()
  if (parseJson(json) === undefined) return { status: 422, message: 'The body is the payload, in JSON.' }
  return [{ topic, isPrivate, event, payload: { json } }]
}

function parseMany(body: Buffer): readonly Broadcast[] | BroadcastRefusal {
  const { messages } = (parseJson(body.toString())?.value ?? {}) as { messages?: unknown }
  if (!Array.isArray(messages)) return { status: 422, message: 'The body is an object with a list of messages.' }
  const broadcasts: Broadcast[] = []
  for (const [index, message] of messages.entries()) {
    const { topic, event, payload, private: isPrivate } = (message ?? {}) as Record<string, unknown>
    if (typeof topic !== 'string' || topic === '' || typeof event !== 'string' || payload === undefined) {
      return { status: 422, message: `Message ${index} lacks a topic, an event or a payload.` }
    }
    broadcasts.push({ topic, isPrivate: isPrivate === true, event, payload: { json: JSON.stringify(payload) } })
  }
  return broadcasts
}

/** In an object, since null is JSON too. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
