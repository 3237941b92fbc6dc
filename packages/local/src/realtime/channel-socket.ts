import type { WebSocket } from 'ws'
import { type ApiCaller, identify } from '../access/api-caller.ts'
import type { ApiKeys } from '../access/api-keys.ts'
import type { TokenProblem } from '../access/json-web-token.ts'
import type { BroadcastPayload } from './broadcast.ts'
import { Channel } from './channel.ts'
import type { ChannelAuthorisation } from './channel-authorisation.ts'
import type { ChannelHub, Subscriber } from './channel-hub.ts'
import { parseJoin } from './channel-join.ts'
import {
  encodeMessage,
  type PhoenixMessage,
  type ProtocolVersion,
  parseMessage,
  TOPIC_PREFIX,
} from './phoenix-message.ts'

export interface ChannelSocketOptions {
  readonly socket: WebSocket
  readonly version: ProtocolVersion
  /** Who has connected: whose channels they are, where a join brings no token of its own. */
  readonly caller: ApiCaller
  readonly keys: ApiKeys
  readonly hub: ChannelHub
  readonly authorisation: ChannelAuthorisation
}

/** A client sends a heartbeat each 25 s. Phoenix ends a connection after this silence, and so do we. */
const MAX_SILENCE_MS = 60_000
/** A client that takes nothing for so long that this many bytes wait for it is cut off; it connects anew. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

const TOKEN_REASONS: Readonly<Record<TokenProblem, string>> = {
  expired: 'Token has expired',
  malformed: 'The token cannot be read',
  'wrong signature': 'The token has a wrong signature',
  'not valid yet': 'The token is not valid yet',
}

/** One web socket, with the channels that it has joined. Its messages are worked off one after the other. */
export class ChannelSocket {
  readonly #options: ChannelSocketOptions
  readonly #channels = new Map<string, { readonly channel: Channel; readonly subscriber: Subscriber }>()
  readonly #silence: NodeJS.Timeout
  #work: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: ChannelSocketOptions) {
    this.#options = options
    const { socket } = options
    this.#silence = setTimeout(() => socket.terminate(), MAX_SILENCE_MS).unref()
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#hear(data, isBinary))
    socket.on('close', () => this.#end())
    // A frame that is too large or broken: the socket closes by itself.
    socket.on('error', () => {})
  }

  #hear(data: Buffer, isBinary: boolean): void {
    this.#silence.refresh()
    const message = parseMessage(data, isBinary)
    if (message === undefined) {
      this.#options.socket.close(1007, 'not a message of Phoenix channels')
    } else if (message.topic === 'phoenix') {
      // At once: a heartbeat that waits behind a slow policy would look like a lost connection.
      this.#reply(message, 'ok')
    } else {
      this.#enqueue(message)
    }
  }

  #enqueue(message: PhoenixMessage): void {
    this.#work = this.#work
      .then(() => (this.#isClosed ? undefined : this.#handle(message)))
      .catch(() => this.#reply(message, 'error', { reason: 'UnableToReachDatabase: try again' }))
  }

  #end(): void {
    this.#isClosed = true
    clearTimeout(this.#silence)
    for (const topic of [...this.#channels.keys()]) this.#leave(topic)
  }

  async #handle(message: PhoenixMessage): Promise<void> {
    if (!message.topic.startsWith(TOPIC_PREFIX) || message.topic === TOPIC_PREFIX) {
      return this.#reply(message, 'error', { reason: 'unmatched topic' })
    }
    const topic = message.topic.slice(TOPIC_PREFIX.length)
    if (message.event === 'phx_join') return this.#join(message, topic)
    const joined = this.#channels.get(topic)
    // What belongs to an earlier join of this topic is answered like what belongs to none.
    const isCurrent = message.joinRef === null || message.joinRef === joined?.channel.joinRef
    if (message.event === 'phx_leave') {
      if (isCurrent) this.#leave(topic)
      return this.#reply(message, 'ok')
    }
    if (joined === undefined || !isCurrent) return this.#reply(message, 'error', { reason: 'unmatched topic' })
    if (message.event === 'access_token') return this.#renew(joined.channel, message)
    if (message.event === 'broadcast') return this.#broadcast(joined.channel, joined.subscriber, message)
    this.#reply(message, 'error', { reason: `The local platform does not serve ${message.event}.` })
  }

  async #join(message: PhoenixMessage, topic: string): Promise<void> {
    const { hub, authorisation, socket, version } = this.#options
    const join = parseJoin(message.payload)
    if ('problem' in join) return this.#reply(message, 'error', { reason: join.problem })
    const identity = this.#identify(join.accessToken)
    if ('problem' in identity) return this.#reply(message, 'error', { reason: tokenReason(identity.problem) })
    const channel = new Channel({
      topic,
      joinRef: message.joinRef,
      config: join.config,
      caller: identity.caller,
      authorisation,
      onExpired: () => this.#close(channel, tokenReason('expired')),
    })
    if (!(await channel.mayListen())) return this.#reply(message, 'error', { reason: mayNotListen(topic) })
    // It may have gone while the policies were asked; then nobody would ever leave.
    if (this.#isClosed) return
    this.#leave(topic)
    const subscriber = { version, deliver: (frame: string | Buffer) => deliver(socket, frame) }
    this.#channels.set(topic, { channel, subscriber })
    channel.open(hub.join(topic, join.config.isPrivate, subscriber))
    this.#reply(message, 'ok', { postgres_changes: [] })
  }

  /** A token that is worth nothing ends the channel, as one does that expires. */
  async #renew(channel: Channel, { payload }: PhoenixMessage): Promise<void> {
    const { access_token: token } = payload
    if (typeof token !== 'string') return
    const identity = this.#identify(token)
    if ('problem' in identity) return this.#close(channel, tokenReason(identity.problem))
    if (!(await channel.mayListen(identity.caller))) return this.#close(channel, mayNotListen(channel.topic))
    if (this.#channels.get(channel.topic)?.channel === channel) channel.renew(identity.caller)
  }

  async #broadcast(channel: Channel, subscriber: Subscriber, message: PhoenixMessage): Promise<void> {
    const { event, payload } = message.payload
    const { topic, config } = channel
    const answers = (status: 'ok' | 'error', reason?: string) => {
      if (config.acknowledges) this.#reply(message, status, reason === undefined ? {} : { reason })
    }
    if (typeof event !== 'string') return answers('error', 'A broadcast has an event, which is a text.')
    if (!(await channel.maySend())) {
      return answers('error', `Unauthorized: You do not have permissions to write to this Channel topic: ${topic}`)
    }
    this.#options.hub.broadcast(
      { topic, isPrivate: config.isPrivate, event, payload: payloadOf(payload) },
      config.hearsItself ? undefined : subscriber,
    )
    answers('ok')
  }

  #identify(token: string | undefined): { readonly caller: ApiCaller } | { readonly problem: TokenProblem } {
    if (token === undefined) return { caller: this.#options.caller }
    const identity = identify(token, this.#options.keys, Date.now())
    return 'caller' in identity ? identity : { problem: identity.problem as TokenProblem }
  }

  /** From our side: the client is told why, and then that the channel is closed. */
  #close(channel: Channel, reason: string): void {
    if (this.#channels.get(channel.topic)?.channel !== channel) return
    this.#leave(channel.topic)
    const { topic, joinRef } = channel
    const onTopic = { joinRef, topic: TOPIC_PREFIX + topic }
    this.#send({
      ...onTopic,
      ref: null,
      event: 'system',
      payload: { channel: topic, extension: 'system', status: 'error', message: reason },
    })
    this.#send({ ...onTopic, ref: joinRef, event: 'phx_close', payload: {} })
  }

  #leave(topic: string): void {
    this.#channels.get(topic)?.channel.close()
    this.#channels.delete(topic)
  }

  #reply({ joinRef, ref, topic }: PhoenixMessage, status: 'ok' | 'error', response: object = {}): void {
    this.#send({ joinRef, ref, topic, event: 'phx_reply', payload: { status, response } })
  }

  #send(message: PhoenixMessage): void {
    deliver(this.#options.socket, encodeMessage(this.#options.version, message))
  }
}

function deliver(socket: WebSocket, frame: string | Buffer): void {
  if (socket.readyState !== socket.OPEN) return
  if (socket.bufferedAmount > MAX_WAITING_BYTES) socket.terminate()
  else socket.send(frame)
}

function payloadOf(payload: unknown): BroadcastPayload {
  return payload instanceof Uint8Array ? { bytes: payload } : { json: JSON.stringify(payload ?? {}) }
}

function tokenReason(problem: TokenProblem): string {
  return `InvalidJWTToken: ${TOKEN_REASONS[problem]}`
}

function mayNotListen(topic: string): string {
  return `Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`
}
