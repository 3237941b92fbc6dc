import { connect, createServer, type Socket } from 'node:net'
import { afterAll } from 'vitest'

/** Stands between a client and a server, and freezes connections as a dead pooler or a lost route does: no word, no end. */
export interface FreezingProxy {
  readonly port: number
  /** Open connections pass nothing more on, either way, for good; new ones work. */
  freeze(): void
  /** New connections are accepted and pass nothing on either, until {@link FreezingProxy.thaw}. */
  freezeAll(): void
  /** New connections work again. Those that froze stay frozen. */
  thaw(): void
}

/** A proxy to a port of this host; gone after the file's tests. */
export async function freezingProxy(targetPort: number): Promise<FreezingProxy> {
  const sockets = new Set<Socket>()
  let isFrozen = false
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    client.on('close', () => sockets.delete(client))
    if (isFrozen) return void client.pause()
    const upstream = connect(targetPort, '127.0.0.1')
    sockets.add(upstream)
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => sockets.delete(upstream))
    client.pipe(upstream).pipe(client)
    client.on('close', () => upstream.destroy())
  })
  const freeze = () => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  return {
    port: address.port,
    freeze,
    freezeAll: () => {
      isFrozen = true
      freeze()
    },
    thaw: () => {
      isFrozen = false
    },
  }
}
