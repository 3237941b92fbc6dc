import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { StarflowError } from '@starflow/errors'
import { CLOSE_TIMEOUT_MS } from '../numbers.ts'
import type { App } from './app.ts'

/** The open port of a server. */
export interface Listener {
  readonly url: string
  /** Takes no new connection, lets answers end that are under way, and cuts off what takes too long. Twice is fine. */
  close(): Promise<void>
}

/** @throws StarflowError SF915 */
export async function listen(app: App, host: string, port: number): Promise<Listener> {
  const server = createAdaptorServer({ fetch: app.fetch })
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
