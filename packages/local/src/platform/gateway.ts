import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FunctionsHost } from '../functions/functions-host.ts'
import type { GatewayService } from '../http/gateway-service.ts'
import { sendJson } from '../http/send-json.ts'
import { portInUse } from './ports.ts'

export interface GatewayOptions {
  /** Where function requests go; undefined until there is a host. */
  readonly functions: () => FunctionsHost | undefined
  /** Body of `GET /health`. */
  readonly health: () => object
  /** What else is served, each below its own path. They start and stop with the gateway. */
  readonly services?: readonly GatewayService[]
}

/** The one HTTP address of the local platform: what Supabase's API gateway is for a project. */
export class Gateway {
  readonly #services: readonly GatewayService[]
  #server: Server | undefined

  constructor({ functions, health, services = [] }: GatewayOptions) {
    this.#services = [
      { prefix: '/health', handle: (_incoming, outgoing) => sendJson(outgoing, 200, health()) },
      {
        prefix: '/functions/v1',
        handle: (incoming, outgoing, rest) => toFunction(functions(), incoming, outgoing, rest),
      },
      ...services,
    ]
  }

  /** Listens on this computer only; port 0 takes a free one. Gives the port. Throws SF501 where it is taken. */
  async start(port = 0): Promise<number> {
    for (const service of this.#services) await service.start?.()
    const server = this.#server ?? (await this.#listen(port))
    this.#server = server
    return (server.address() as AddressInfo).port
  }

  /** Takes no further connection, lets the services end theirs, and breaks those that are still open. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = server === undefined ? undefined : new Promise((resolve) => server.close(resolve))
    for (const service of this.#services) await service.stop?.()
    server?.closeAllConnections()
    await closed
  }

  async #listen(port: number): Promise<Server> {
    const server = createServer((incoming, outgoing) => void this.#answer(incoming, outgoing))
    server.on('upgrade', (incoming, socket, head) => void this.#upgrade(incoming, socket, head))
    // The functions host has its own limit for the answer; a slow upload is not ours to end.
    server.requestTimeout = 0
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        reject(error.code === 'EADDRINUSE' ? portInUse('api', port) : error)
      })
      server.listen(port, '127.0.0.1', resolve)
    })
    return server
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { service, rest } = this.#route(incoming)
    try {
      if (service === undefined) sendJson(outgoing, 404, { message: 'no Route matched with those values' })
      else await service.handle(incoming, outgoing, rest)
    } catch {
      if (outgoing.headersSent) outgoing.destroy()
      else sendJson(outgoing, 500, { message: 'The local gateway failed to answer.' })
    }
  }

  async #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // A peer that resets its connection ends that one, not the process.
    socket.on('error', () => socket.destroy())
    const { service, rest } = this.#route(incoming)
    try {
      if (service?.upgrade === undefined) socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
      else await service.upgrade(incoming, socket, head, rest)
    } catch {
      socket.destroy()
    }
  }

  #route({ url = '/' }: IncomingMessage): { service: GatewayService | undefined; rest: string } {
    const service = this.#services.find(({ prefix }) => {
      return url.startsWith(prefix) && /^([/?]|$)/.test(url.slice(prefix.length))
    })
    return { service, rest: url.slice(service?.prefix.length ?? 0) }
  }
}

async function toFunction(
  functions: FunctionsHost | undefined,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  rest: string,
): Promise<void> {
  const [, name = '', path = ''] = /^\/([^/?]*)(.*)$/.exec(rest) ?? []
  if (functions === undefined)
    return sendJson(outgoing, 404, { message: 'This platform was started without functions.' })
  await functions.handle(incoming, outgoing, name, path)
}
