import { connect, createServer, type Socket } from 'node:net'

/** Stands between a client and Postgres, and cuts connections as a failing network does. */
export interface FlakyProxy {
  /** The database's URL through this proxy. */
  readonly url: string
  /** Resets every connection (the client sees ECONNRESET). */
  reset(): void
  /** Resets every connection as soon as its client sends `text`; once. */
  resetAt(text: string): void
  /** Refuses new connections and resets the open ones, until {@link FlakyProxy.restore}. */
  cut(): void
  restore(): void
  /** How many connections were opened so far. */
  readonly connections: number
  close(): Promise<void>
}

export async function flakyProxy(databaseUrl: string): Promise<FlakyProxy> {
  const target = new URL(databaseUrl)
  const clients = new Set<Socket>()
  let trigger: string | undefined
  let isCut = false
  let connections = 0
  const server = createServer((client) => {
    if (isCut) return void client.resetAndDestroy()
    connections++
    clients.add(client)
    const upstream = connect(Number(target.port), target.hostname)
    client.on('data', (data) => {
      if (trigger !== undefined && data.includes(trigger)) {
        trigger = undefined
        client.resetAndDestroy()
        return
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => client.write(data))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => {
        clients.delete(client)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(address.port)
  const reset = () => {
    for (const client of clients) client.resetAndDestroy()
  }
  return {
    url: url.href,
    reset,
    resetAt: (text) => {
      trigger = text
    },
    cut: () => {
      isCut = true
      reset()
    },
    restore: () => {
      isCut = false
    },
    get connections() {
      return connections
    },
    close: async () => {
      reset()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
