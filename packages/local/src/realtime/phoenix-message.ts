import type { Broadcast } from './broadcast.ts'

/** How messages are written: as objects, or as arrays with a binary form for broadcasts. */
export type ProtocolVersion = '1.0.0' | '2.0.0'

/** A message of Phoenix channels. `ref` names it in the reply, `joinRef` the join that it belongs to. */
export interface PhoenixMessage {
  readonly joinRef: string | null
  readonly ref: string | null
  readonly topic: string
  readonly event: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** What each topic begins with on the wire. */
export const TOPIC_PREFIX = 'realtime:'

/** Kinds of binary messages: a broadcast on its way to the server, and to a client. */
const PUSHED_BROADCAST = 3
const DELIVERED_BROADCAST = 4
const BINARY_PAYLOAD = 0
const JSON_PAYLOAD = 1
const MAX_FIELD_BYTES = 255

/** Undefined where the data is no message. */
export function parseMessage(data: Buffer, isBinary: boolean): PhoenixMessage | undefined {
  try {
    return isBinary ? parsePushedBroadcast(data) : parseText(JSON.parse(data.toString()))
  } catch {
    return undefined
  }
}

export function encodeMessage(version: ProtocolVersion, message: PhoenixMessage): string {
  const { joinRef, ref, topic, event, payload } = message
  return JSON.stringify(
    version === '2.0.0' ? [joinRef, ref, topic, event, payload] : { join_ref: joinRef, ref, topic, event, payload },
  )
}

/** As that version delivers it; undefined for bytes that it cannot carry. */
export function encodeBroadcast(version: ProtocolVersion, broadcast: Broadcast): string | Buffer | undefined {
  const topic = TOPIC_PREFIX + broadcast.topic
  const meta = broadcast.id === undefined ? undefined : JSON.stringify({ id: broadcast.id })
  if ('bytes' in broadcast.payload) {
    return version === '2.0.0' ? deliveredBytes(topic, broadcast.event, meta, broadcast.payload.bytes) : undefined
  }
  // The payload is put in as it was written: parsing it would cost time, and digits of long numbers.
  const payload = `{"type":"broadcast","event":${JSON.stringify(broadcast.event)},"payload":${broadcast.payload.json}${meta === undefined ? '' : `,"meta":${meta}`}}`
  return version === '2.0.0'
    ? `[null,null,${JSON.stringify(topic)},"broadcast",${payload}]`
    : `{"ref":null,"topic":${JSON.stringify(topic)},"event":"broadcast","payload":${payload}}`
}

function parseText(value: unknown): PhoenixMessage | undefined {
  const [joinRef, ref, topic, event, payload] = Array.isArray(value) ? value : fieldsOf(value)
  if (typeof topic !== 'string' || typeof event !== 'string') return undefined
  return { joinRef: refOf(joinRef), ref: refOf(ref), topic, event, payload: isRecord(payload) ? payload : {} }
}

function fieldsOf(value: unknown): unknown[] {
  return isRecord(value) ? [value.join_ref, value.ref, value.topic, value.event, value.payload] : []
}

function refOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

/** kind, five lengths, encoding; then join_ref, ref, topic, event, metadata and the payload. */
function parsePushedBroadcast(data: Buffer): PhoenixMessage | undefined {
  if (data[0] !== PUSHED_BROADCAST || data.length < 7) return undefined
  let at = 7
  const [joinRef, ref, topic, event] = [1, 2, 3, 4, 5].map((field) => {
    const begin = at
    at += data[field] as number
    return textOf(data.subarray(begin, at))
  }) as [string, string, string, string]
  if (at > data.length) return undefined
  const content = data.subarray(at)
  const payload: unknown = data[6] === JSON_PAYLOAD ? JSON.parse(content.toString()) : new Uint8Array(content)
  return {
    joinRef: joinRef === '' ? null : joinRef,
    ref: ref === '' ? null : ref,
    topic,
    event: 'broadcast',
    payload: { type: 'broadcast', event, payload },
  }
}

/** supabase-js writes one byte for each character of these fields; other clients write UTF-8. */
function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}

/** kind, three lengths, encoding; then topic, event, metadata and the payload. */
function deliveredBytes(topic: string, event: string, meta: string | undefined, bytes: Uint8Array): Buffer | undefined {
  const fields = [topic, event, meta ?? ''].map((text) => Buffer.from(text))
  if (fields.some(({ length }) => length > MAX_FIELD_BYTES)) return undefined
  const header = Buffer.from([DELIVERED_BROADCAST, ...fields.map(({ length }) => length), BINARY_PAYLOAD])
  return Buffer.concat([header, ...fields, bytes])
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
