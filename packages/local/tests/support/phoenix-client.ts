import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import WebSocket from 'ws'
import { KEYS } from './api-gateway.ts'

export interface HeardMessage {
  readonly join_ref: string | null
  readonly ref: string | null
  readonly topic: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it asked for
  readonly payload: any
}

/** A web socket that speaks Phoenix channels, version 1.0.0, with nothing of a client library in between. */
export class PhoenixClient {
  readonly heard: HeardMessage[] = []
  /** Settles with the code when the socket has ended. */
  readonly closed: Promise<number>
  readonly #socket: WebSocket
  readonly #waiting = new Set<() => void>()
  #ref = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => {
      this.heard.push(JSON.parse(data.toString()) as HeardMessage)
      for (const look of this.#waiting) look()
    })
    this.closed = once(socket, 'close').then(([code]) => code as number)
  }

  /** It ends with the test. */
  static async connect(url: string, key = KEYS.publishableKey): Promise<PhoenixClient> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime/v1/websocket?apikey=${key}&vsn=1.0.0`)
    socket.on('error', () => {})
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    return new PhoenixClient(socket)
  }

  /** Joins a topic and gives the answer. */
  join(topic: string, config: object = {}, accessToken?: string): Promise<HeardMessage> {
    const payload = { config, ...(accessToken === undefined ? {} : { access_token: accessToken }) }
    return this.ask(`realtime:${topic}`, 'phx_join', payload)
  }

  /** Sends a message and gives the answer to it. */
  async ask(topic: string, event: string, payload: object = {}): Promise<HeardMessage> {
    const ref = this.push(topic, event, payload)
    return this.hears((message) => message.event === 'phx_reply' && message.ref === ref)
  }

  /** Sends a message and gives its reference. */
  push(topic: string, event: string, payload: object = {}): string {
    const ref = String(++this.#ref)
    this.#socket.send(JSON.stringify({ topic, event, payload, ref }))
    return ref
  }

  sendRaw(data: string | Buffer): void {
    this.#socket.send(data)
  }

  /** Ends the connection as a computer does that loses its network. */
  drop(): void {
    this.#socket.terminate()
  }

  /** The first message, past or to come, that fits. */
  hears(fits: (message: HeardMessage) => boolean): Promise<HeardMessage> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        this.#waiting.delete(look)
      }
      const timer = setTimeout(() => {
        end()
        reject(new Error(`heard only ${JSON.stringify(this.heard)}`))
      }, 10_000)
      const look = () => {
        const found = this.heard.find(fits)
        if (found === undefined) return
        end()
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }
}

/** True for a broadcast of this event. */
export function isBroadcast(event: string): (message: HeardMessage) => boolean {
  return (message) => message.event === 'broadcast' && message.payload.event === event
}
