import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ApiCaller, identifyRequest } from '../access/api-caller.ts'
import type { ApiKeys } from '../access/api-keys.ts'
import { refusalOf } from '../access/refusal.ts'
import { TransactionPool } from '../database/transaction-pool.ts'
import { answersPreflight } from '../http/cors.ts'
import type { GatewayService } from '../http/gateway-service.ts'
import { sendJson } from '../http/send-json.ts'
import { urlOf } from '../http/url-of.ts'
import { type Broadcast, MAX_BROADCAST_BYTES } from './broadcast.ts'
import { BroadcastListener } from './broadcast-listener.ts'
import { parseBroadcastRequest } from './broadcast-request.ts'
import { ChannelAuthorisation } from './channel-authorisation.ts'
import { ChannelHub } from './channel-hub.ts'
import { ChannelSocket } from './channel-socket.ts'
import type { ProtocolVersion } from './phoenix-message.ts'

export interface RealtimeServiceOptions {
  /** The database as the superuser. */
  readonly databaseUrl: string
  readonly keys: ApiKeys
}

/** Topic, references and quotes of a message come on top of its payload. */
const MAX_FRAME_BYTES = MAX_BROADCAST_BYTES + 64 * 1024
const CLOSE_GRACE_MS = 500
const APPLICATION_NAME = 'realtime'
/** Of those that read messages, and of those that try out policies. */
const MAX_READING_CONNECTIONS = 1
const MAX_TRYING_CONNECTIONS = 4

/** `/realtime/v1`: broadcasts between clients, and from the database to clients. See README.md. */
export class RealtimeService implements GatewayService {
  readonly prefix = '/realtime/v1'
  readonly hub = new ChannelHub()
  readonly #keys: ApiKeys
  readonly #sql: Sql
  readonly #transactions: TransactionPool
  readonly #authorisation: ChannelAuthorisation
  readonly #listener: BroadcastListener
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false })
  #isStopped = false

  constructor({ databaseUrl, keys }: RealtimeServiceOptions) {
    this.#keys = keys
    this.#sql = postgres(databaseUrl, {
      max: MAX_READING_CONNECTIONS,
      // Asked for by the driver, they end the process when the connection is lost at that moment.
      fetch_types: false,
      onnotice: () => {},
      connection: { application_name: APPLICATION_NAME },
    })
    this.#transactions = new TransactionPool({
      url: databaseUrl,
      name: APPLICATION_NAME,
      maxConnections: MAX_TRYING_CONNECTIONS,
    })
    this.#authorisation = new ChannelAuthorisation(this.#transactions)
    this.#listener = new BroadcastListener({
      sql: this.#sql,
      onBroadcast: (broadcast) => this.hub.broadcast(broadcast),
      isWanted: () => !this.hub.isEmpty,
    })
  }

  /** Settles when it hears the database. */
  async start(): Promise<void> {
    await this.#listener.start()
  }

  /** Closes all sockets, and settles when none and no connection to the database is open. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const clients = [...this.#sockets.clients]
    const closed = clients.map((client) => new Promise((resolve) => client.once('close', resolve)))
    for (const client of clients) client.close(1001, 'The local platform stops.')
    await Promise.race([Promise.all(closed), delay(CLOSE_GRACE_MS, undefined, { ref: false })])
    for (const client of clients) client.terminate()
    await Promise.all(closed)
    await this.#transactions.stop()
    await this.#listener.stop()
    await this.#sql.end({ timeout: 1 })
  }

  async handle(incoming: IncomingMessage, outgoing: ServerResponse, rest: string): Promise<void> {
    if (answersPreflight(incoming, outgoing)) return
    const url = urlOf(rest)
    const identity = identifyRequest(incoming.headers, url.searchParams.get('apikey'), this.#keys, Date.now())
    if ('problem' in identity) {
      const { status, body } = refusalOf(identity.problem)
      return sendJson(outgoing, status, body)
    }
    const broadcasts = await parseBroadcastRequest(incoming, url)
    if (broadcasts === undefined) return sendJson(outgoing, 404, { message: 'There is nothing at this path.' })
    if ('status' in broadcasts) return sendJson(outgoing, broadcasts.status, { message: broadcasts.message })
    const refused = await this.#firstRefused(identity.caller, broadcasts)
    if (refused !== undefined) {
      const message = `You do not have permissions to write to this Channel topic: ${refused}`
      return sendJson(outgoing, 403, { message })
    }
    for (const broadcast of broadcasts) this.hub.broadcast(broadcast)
    outgoing.writeHead(202).end()
  }

  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, rest: string): void {
    const url = urlOf(rest)
    const identity = identifyRequest(incoming.headers, url.searchParams.get('apikey'), this.#keys, Date.now())
    if (url.pathname !== '/websocket' || this.#isStopped) {
      refuseUpgrade(socket, '404 Not Found')
    } else if ('problem' in identity) {
      refuseUpgrade(socket, '401 Unauthorized')
    } else {
      const version = url.searchParams.get('vsn')?.startsWith('2.') === true ? '2.0.0' : '1.0.0'
      this.#sockets.handleUpgrade(incoming, socket, head, (client) => this.#serve(client, version, identity.caller))
    }
  }

  #serve(socket: WebSocket, version: ProtocolVersion, caller: ApiCaller): void {
    new ChannelSocket({
      socket,
      version,
      caller,
      keys: this.#keys,
      hub: this.hub,
      authorisation: this.#authorisation,
    })
  }

  /** The first private topic to which the caller may not send: nothing is sent then. */
  async #firstRefused(caller: ApiCaller, broadcasts: readonly Broadcast[]): Promise<string | undefined> {
    const topics = new Set(broadcasts.filter(({ isPrivate }) => isPrivate).map(({ topic }) => topic))
    for (const topic of topics) {
      if (!(await this.#authorisation.maySend(caller, topic))) return topic
    }
    return undefined
  }
}

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}
