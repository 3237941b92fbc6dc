import { firstPathSegment, type Platform } from '../../src/platform.ts'

export interface TestPlatformOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly wallClockMs?: number | null
  readonly startMode?: 'http' | 'process'
  readonly ageMs?: () => number
  /** Default: it cannot measure itself. */
  readonly cpuMs?: () => number
  readonly drainTimeoutMs?: number
  /** Of a process, which no request tells its name. */
  readonly functionName?: string
}

/** A platform in the hands of a test: it sends requests and the host's events itself. */
export interface TestPlatform extends Platform {
  /** What a gateway does: one request, authorised with `secret`. */
  request(path: string, init?: { secret?: string; headers?: Record<string, string> }): Promise<Response>
  /** What a host does before it ends an instance. */
  shutDown(reason: string): void
  /** False once a worker has met what no retry can mend. */
  readonly couldGoOn: boolean
  /** Settles when everything that the host was asked to wait for has settled. */
  settled(): Promise<void>
}

export function testPlatform(options: TestPlatformOptions = {}): TestPlatform {
  const bootedAt = performance.now()
  const listeners: ((reason: string) => void)[] = []
  const lifetimes: Promise<unknown>[] = []
  let couldGoOn = true
  let serving: ((request: Request) => Promise<Response>) | undefined
  return {
    name: 'test',
    startMode: options.startMode ?? 'http',
    env: Object.freeze({ ...options.env }),
    wallClockMs: options.wallClockMs ?? null,
    drainTimeoutMs: options.drainTimeoutMs ?? 0,
    ageMs: options.ageMs ?? (() => performance.now() - bootedAt),
    cpuMs: () => options.cpuMs?.() ?? null,
    functionName: (request) => (request === null ? (options.functionName ?? null) : firstPathSegment(request)),
    onShutdown: (listener) => void listeners.push(listener),
    extendLifetime: (promise) => void lifetimes.push(promise),
    serve: (handler) => {
      serving = handler
    },
    cannotGoOn: () => {
      couldGoOn = false
    },
    get couldGoOn() {
      return couldGoOn
    },
    request(path, init = {}) {
      if (serving === undefined) throw new Error('Nothing is served yet.')
      const headers = new Headers(init.headers)
      if (init.secret !== undefined) headers.set('authorization', `Bearer ${init.secret}`)
      return serving(new Request(new URL(path, 'http://localhost'), { method: 'POST', headers }))
    },
    shutDown(reason) {
      for (const listener of listeners) listener(reason)
    },
    async settled() {
      // What is waited for may itself ask for more.
      for (let seen = -1; seen !== lifetimes.length; ) {
        seen = lifetimes.length
        await Promise.allSettled(lifetimes)
      }
    },
  }
}
