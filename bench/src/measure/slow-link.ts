import net, { type AddressInfo } from 'node:net'

/** A TCP proxy that holds back every chunk, in each direction, for the same time. */
export interface SlowLink {
  readonly port: number
  close(): Promise<void>
}

/** Chunks keep their order: timers of one length fire in the order in which they were set. */
export async function slowLink(targetPort: number, delayMs: number): Promise<SlowLink> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer({ noDelay: true }, (near) => {
    const far = net.connect({ host: '127.0.0.1', port: targetPort, noDelay: true })
    forward(near, far)
    forward(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  function forward(from: net.Socket, to: net.Socket): void {
    sockets.add(from)
    from.on('data', (chunk) => setTimeout(() => to.write(chunk), delayMs))
    from.on('close', () => setTimeout(() => to.destroy(), delayMs))
    from.on('error', () => to.destroy())
  }
}
