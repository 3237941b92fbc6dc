import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { StarflowError } from '@starflow/errors'
import { CLOSE_TIMEOUT_MS, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS, SLOW_CLIENT_CHECK_MS } from '../numbers.ts'
import type { App } from './app.ts'

/** The open port of a server. */
export interface Listener {
  readonly url: string
  /** Takes no new connection, lets answers end that are under way, and cuts off what takes too long. Twice is fine. */
  close(): Promise<void>
}

/** How long a client may take to say what it wants; its connection is closed then (408). An answer may take as long as it likes. */
export interface ClientLimits {
  readonly headersTimeoutMs: number
  /** Header and body. */
  readonly requestTimeoutMs: number
  /** How often connections are looked at. */
  readonly checkMs: number
}

const CLIENT_LIMITS: ClientLimits = {
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
  checkMs: SLOW_CLIENT_CHECK_MS,
}

/** @throws StarflowError SF915 */
export async function listen(
  app: Pick<App, 'fetch'>,
  host: string,
  port: number,
  limits: ClientLimits = CLIENT_LIMITS,
): Promise<Listener> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.checkMs,
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(host, port, error)))
    server.listen(port, host, resolve)
  })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= new Promise<void>((resolve) => {
      const cutOff = setTimeout(() => 'closeAllConnections' in server && server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      server.close(() => {
        clearTimeout(cutOff)
        resolve()
      })
      if ('closeIdleConnections' in server) server.closeIdleConnections()
    })
    return closing
  }
  const address = server.address() as AddressInfo
  const shownHost = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `http://${shownHost}:${address.port}`, close }
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): StarflowError {
  return new StarflowError({
    code: 'SF915',
    message: `The address ${host}:${port} cannot be listened on.`,
    detail: cause.code === 'EADDRINUSE' ? 'Another process listens there already.' : (cause.code ?? cause.message),
    hint: 'End that process, or set STARFLOW_PORT; 0 takes a free one.',
    fields: { host, port },
    cause,
  })
}
