/**
 * Where a worker lives. Everything it needs of its host, and nothing else: the host's globals are touched in
 * `platforms/` only.
 */
export interface Platform {
  /** For the log. */
  readonly name: string
  /** `http`: a request starts the workers. `process`: they start by themselves and nobody pings them. */
  readonly startMode: 'http' | 'process'
  /** The environment, read once. */
  readonly env: Readonly<Record<string, string>>
  /** How long this instance may live in all, or null without a limit. Milliseconds. */
  readonly wallClockMs: number | null
  /** How long started handlers may go on in peace once the host wants this instance to end. 0: they are told at once. */
  readonly drainTimeoutMs: number
  /** How long this instance has lived, and with it how old the loaded code is. Milliseconds. */
  ageMs(): number
  /**
   * CPU of this instance since its boot, in milliseconds; null where it cannot measure itself, as in the edge runtime, whose
   * line of Deno has no `process.cpuUsage`: whoever runs it measures it from outside.
   */
  cpuMs(): number | null
  /** The name under which this instance's workers are known; null where the request does not tell one. */
  functionName(request: Request | null): string | null
  /** Calls `listener` when the host is about to end this instance, with the host's reason. */
  onShutdown(listener: (reason: string) => void): void
  /** Asks the host to keep this instance until `promise` settles. */
  extendLifetime(promise: Promise<unknown>): void
  /** Answers requests from now on. A `process` platform may have none to answer. */
  serve(handler: (request: Request) => Promise<Response>): void
  /** A worker that starts by itself has met what no retry can mend. */
  cannotGoOn(): void
}

/** First segment of the path: `/my-worker/health` belongs to the function `my-worker`. */
export function firstPathSegment(request: Request | null): string | null {
  if (request === null) return null
  const segment = new URL(request.url).pathname.split('/').find((part) => part !== '')
  return segment !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(segment) ? segment : null
}
