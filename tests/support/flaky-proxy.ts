import { connect, createServer, type Socket } from 'node:net'

/** Stands between a client and Postgres, and cuts connections as a failing network does. */
export interface FlakyProxy {
  /** The database's URL through this proxy. */
  readonly url: string
  /** Resets every connection (the client sees ECONNRESET). */
  reset(): void
  /** Resets every connection as soon as its client sends `text`; once. */
  resetAt(text: string): void
  /**
   * Stops the first connection whose client sends `text`: `before` the server gets it, or `after` the server has answered
   * it, with the answer withheld. Settles then; the connection hangs until it is reset.
   */
  stopAt(text: string, when: 'before' | 'after'): Promise<void>
  /** Swallows everything that comes on the connections that are open now, both ways, while they stay open. New ones work. */
  freeze(): void
  /** Swallows everything on new connections too, until {@link FlakyProxy.restore}. */
  goSilent(): void
  /** Holds every piece of data back for so long, both ways; 0 for no longer. */
  delay(ms: number): void
  /** Refuses new connections and resets the open ones, until {@link FlakyProxy.restore}. */
  cut(): void
  restore(): void
  /** How many connections were opened so far. */
  readonly connections: number
  close(): Promise<void>
}

/** @param databaseUrl asked for each connection when it is a function: the database may come after its proxy, and move */
export async function flakyProxy(databaseUrl: string | (() => string)): Promise<FlakyProxy> {
  const targetUrl = () => new URL(typeof databaseUrl === 'string' ? databaseUrl : databaseUrl())
  const clients = new Set<Socket>()
  const frozen = new WeakSet<Socket>()
  let trigger: string | undefined
  let stop: { text: string; when: 'before' | 'after'; tell: () => void } | undefined
  let isCut = false
  let isSilent = false
  let delayMs = 0
  let connections = 0
  const server = createServer((client) => {
    if (isCut) return void client.resetAndDestroy()
    connections++
    clients.add(client)
    if (isSilent) frozen.add(client)
    /** Later, in order, also where the delay is over meanwhile. */
    const passTo = (to: Socket) => {
      const late: Buffer[] = []
      return (data: Buffer) => {
        if (frozen.has(client)) return
        if (delayMs === 0 && late.length === 0) return void to.write(data)
        late.push(data)
        setTimeout(() => {
          const next = late.shift()!
          if (!frozen.has(client) && !to.destroyed) to.write(next)
        }, delayMs)
      }
    }
    const target = targetUrl()
    const upstream = connect(Number(target.port), target.hostname)
    const [toServer, toClient] = [passTo(upstream), passTo(client)]
    let stopped: typeof stop
    client.on('data', (data) => {
      if (stopped === undefined && stop !== undefined && data.includes(stop.text)) {
        stopped = stop
        stop = undefined
        if (stopped.when === 'before') return stopped.tell()
      }
      if (stopped?.when === 'before') return
      if (trigger !== undefined && data.includes(trigger)) {
        trigger = undefined
        client.resetAndDestroy()
        return
      }
      toServer(data)
    })
    upstream.on('data', (data) => {
      if (stopped === undefined) toClient(data)
      else stopped.tell()
    })
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
  const reset = () => {
    for (const client of clients) client.resetAndDestroy()
  }
  return {
    get url() {
      const url = targetUrl()
      url.hostname = '127.0.0.1'
      url.port = String(address.port)
      return url.href
    },
    reset,
    resetAt: (text) => {
      trigger = text
    },
    stopAt: (text, when) =>
      new Promise((tell) => {
        stop = { text, when, tell }
      }),
    freeze: () => {
      for (const client of clients) frozen.add(client)
    },
    goSilent: () => {
      isSilent = true
      for (const client of clients) frozen.add(client)
    },
    delay: (ms) => {
      delayMs = ms
    },
    cut: () => {
      isCut = true
      reset()
    },
    restore: () => {
      isCut = false
      isSilent = false
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
