import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, describe, expect, test } from 'vitest'
import { until } from '../../tests/support/until.ts'
import { eventStreamResponse } from './event-stream.ts'
import { listen } from './listener.ts'

/** Counts what was sent into a stream that never ends, and knows the socket that it goes to. */
const stream = { socket: undefined as Socket | undefined, chunks: 0, hasHungUp: false }
const CHUNK = `data: ${'x'.repeat(65_536)}\n\n`

const app = new Hono<{ Bindings: HttpBindings }>()
app.get('/', (context) => context.text('well'))
app.post('/', async (context) => context.text(await context.req.text()))
app.onError(() => new Response(null, { status: 500 }))
app.get('/stream', (context) => {
  stream.socket = context.env.incoming.socket
  return eventStreamResponse(new AbortController().signal, async (send, ended) => {
    for (; !ended.aborted; stream.chunks++) await send(CHUNK)
    stream.hasHungUp = true
  })
})

const limits = { headersTimeoutMs: 150, requestTimeoutMs: 300, checkMs: 20 }
const listener = await listen(app as never, '127.0.0.1', 0, limits)
afterAll(() => listener.close())
const { port } = new URL(listener.url)

/** What the server says to a client that begins so, and goes on a byte at a time, until it hangs up. */
async function answerTo(beginning: string, next: string): Promise<string> {
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(beginning)
  const trickle = setInterval(() => socket.write(next), 20)
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  // What it writes after the end is nobody's any more.
  socket.on('error', () => {})
  await once(socket, 'close')
  clearInterval(trickle)
  return text
}

describe('a client that takes for ever', () => {
  test.each([
    ['over its header', 'GET / HTTP/1.1\r\nhost: a\r\n', 'x-more: 1\r\n'],
    ['over its body', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n', 'x'],
    ['over its body in chunks', 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
  ])('%s is hung up on, while others are answered', async (_, beginning, next) => {
    const slow = answerTo(beginning, next)
    expect(await (await fetch(listener.url)).text()).toBe('well')
    expect(await slow).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('to read what it asked for is sent no more than sockets hold, and costs nothing when it goes', async () => {
    const socket = connect(Number(port), '127.0.0.1').pause()
    socket.write('GET /stream HTTP/1.1\r\nhost: a\r\n\r\n')
    await until(
      async () => stream.socket?.writableNeedDrain,
      (isFull) => isFull === true,
    )
    for (let round = 0; round < 200; round++) await turn()
    const { chunks } = stream
    for (let round = 0; round < 200; round++) await turn()
    expect(stream.chunks - chunks).toBeLessThan(5)
    expect(stream.socket!.writableLength).toBeLessThan(4 * CHUNK.length)
    socket.destroy()
    await until(
      async () => stream.hasHungUp,
      (hasHungUp) => hasHungUp,
    )
  })
})
