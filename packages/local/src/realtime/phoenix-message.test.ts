import { describe, expect, test } from 'vitest'
import type { Broadcast } from './broadcast.ts'
import { encodeBroadcast, encodeMessage, parseMessage } from './phoenix-message.ts'

/** As supabase-js writes a broadcast: one byte for each character of the names. */
function pushed(event: string, encoding: number, payload: Buffer, meta = ''): Buffer {
  const fields = ['1', '2', 'realtime:room', event, meta].map((text) => Buffer.from(text, 'latin1'))
  return Buffer.concat([Buffer.from([3, ...fields.map(({ length }) => length), encoding]), ...fields, payload])
}

const BROADCAST: Broadcast = { topic: 'room', isPrivate: false, event: 'hi', payload: { json: '{"n": 1.50}' } }

describe('a message', () => {
  test('is an array or an object, and says the same', () => {
    const message = { joinRef: '1', ref: '2', topic: 'realtime:room', event: 'phx_join', payload: { config: {} } }
    for (const version of ['1.0.0', '2.0.0'] as const) {
      expect(parseMessage(Buffer.from(encodeMessage(version, message)), false)).toEqual(message)
    }
    expect(parseMessage(Buffer.from('{"topic":"phoenix","event":"heartbeat","ref":3}'), false)).toEqual({
      joinRef: null,
      ref: '3',
      topic: 'phoenix',
      event: 'heartbeat',
      payload: {},
    })
  })

  test.each(['1', 'null', '"text"', '{}', '[]', '[1,2,3,4,5]', '{"topic":"t"}'])('is not %s', (text) => {
    expect(parseMessage(Buffer.from(text), false)).toBeUndefined()
  })
})

describe('a broadcast in binary form', () => {
  test('carries JSON or bytes, under names of any characters', () => {
    const json = parseMessage(pushed('grüß', 1, Buffer.from('{"é":1}')), true)
    expect(json).toMatchObject({ joinRef: '1', ref: '2', topic: 'realtime:room', event: 'broadcast' })
    expect(json?.payload).toEqual({ type: 'broadcast', event: 'grüß', payload: { é: 1 } })
    const bytes = parseMessage(pushed('raw', 0, Buffer.from([0, 255]), '{"x":1}'), true)
    expect(bytes?.payload).toEqual({ type: 'broadcast', event: 'raw', payload: new Uint8Array([0, 255]) })
  })

  test('is refused where it is shorter than it says, or of another kind', () => {
    const whole = pushed('hi', 1, Buffer.from('{}'))
    expect(parseMessage(whole.subarray(0, 12), true)).toBeUndefined()
    expect(parseMessage(Buffer.from([4, 0, 0, 0, 0, 0, 1]), true)).toBeUndefined()
    expect(parseMessage(Buffer.alloc(0), true)).toBeUndefined()
    expect(parseMessage(pushed('hi', 1, Buffer.from('{')), true)).toBeUndefined()
  })
})

describe('what is delivered', () => {
  test('has the payload as it was written, and the id of its row', () => {
    expect(encodeBroadcast('2.0.0', { ...BROADCAST, id: 'an id' })).toBe(
      '[null,null,"realtime:room","broadcast",{"type":"broadcast","event":"hi","payload":{"n": 1.50},"meta":{"id":"an id"}}]',
    )
    expect(encodeBroadcast('1.0.0', BROADCAST)).toBe(
      '{"ref":null,"topic":"realtime:room","event":"broadcast","payload":{"type":"broadcast","event":"hi","payload":{"n": 1.50}}}',
    )
  })

  test('is binary for bytes, which the first version and too long a name cannot carry', () => {
    const bytes = { ...BROADCAST, payload: { bytes: new Uint8Array([1, 2]) } }
    expect(encodeBroadcast('2.0.0', bytes)).toEqual(
      Buffer.concat([Buffer.from([4, 13, 2, 0, 0]), Buffer.from('realtime:roomhi'), Buffer.from([1, 2])]),
    )
    expect(encodeBroadcast('1.0.0', bytes)).toBeUndefined()
    expect(encodeBroadcast('2.0.0', { ...bytes, event: 'x'.repeat(256) })).toBeUndefined()
  })
})
