import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** What answers below one path of the gateway. */
export interface GatewayService {
  /** The path that it serves, without a slash at its end. */
  readonly prefix: string
  /** Called before the gateway takes connections, and after it has ceased to. Twice is fine. */
  start?(): Promise<void>
  stop?(): Promise<void>
  /** Answers a request; `rest` is what follows the prefix in the URL, with the query. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse, rest: string): void | Promise<void>
  /** Takes over the connection of a request that wants another protocol. Without it such requests are refused. */
  upgrade?(incoming: IncomingMessage, socket: Duplex, head: Buffer, rest: string): void | Promise<void>
}
