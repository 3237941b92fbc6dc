import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FunctionsHost } from '../functions/functions-host.ts'
import { portInUse } from './ports.ts'

export interface GatewayOptions {
  /** Where function requests go; undefined until there is a host. */
  readonly functions: () => FunctionsHost | undefined
  /** Body of `GET /health`. */
  readonly health: () => object
}

interface Route {
  readonly prefix: string
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse, rest: string) => void | Promise<void>
}

/** The one HTTP address of the local platform: what Supabase's API gateway is for a project. */
export class Gateway {
  readonly #routes: readonly Route[]
  #server: Server | undefined

  constructor({ functions, health }: GatewayOptions) {
    this.#routes = [
      { prefix: '/health', handle: (_incoming, outgoing) => sendJson(outgoing, 200, health()) },
      {
        prefix: '/functions/v1',
        handle: (incoming, outgoing, rest) => toFunction(functions(), incoming, outgoing, rest),
      },
      { prefix: '/rest/v1', handle: (_incoming, outgoing) => notServed(outgoing, '/rest/v1') },
      { prefix: '/realtime/v1', handle: (_incoming, outgoing) => notServed(outgoing, '/realtime/v1') },
    ]
  }

  /** Listens on this computer only; port 0 takes a free one. Gives the port. Throws SF501 where it is taken. */
  async start(port = 0): Promise<number> {
    const server = this.#server ?? (await this.#listen(port))
    this.#server = server
    return (server.address() as AddressInfo).port
  }

  /** Takes no further connection and breaks those that are open. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  async #listen(port: number): Promise<Server> {
    const server = createServer((incoming, outgoing) => void this.#answer(incoming, outgoing))
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
    const url = incoming.url ?? '/'
    const route = this.#routes.find(
      ({ prefix }) => url.startsWith(prefix) && /^([/?]|$)/.test(url.slice(prefix.length)),
    )
    try {
      if (route === undefined) sendJson(outgoing, 404, { message: 'no Route matched with those values' })
      else await route.handle(incoming, outgoing, url.slice(route.prefix.length))
    } catch {
      if (outgoing.headersSent) outgoing.destroy()
      else sendJson(outgoing, 500, { message: 'The local gateway failed to answer.' })
    }
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

function notServed(outgoing: ServerResponse, prefix: string): void {
  sendJson(outgoing, 501, {
    message: `${prefix} is not served by the local platform.`,
    hint: 'Use the database URL, or point at a Supabase project.',
  })
}

function sendJson(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
