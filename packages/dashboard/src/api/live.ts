import type { QueryClient } from '@tanstack/react-query'

/** How often everything on the page is asked again where nothing tells what has changed. */
export const POLL_MS = 3_000
/** With hints too: ages grow without an event, and a hint may be lost. */
export const REFRESH_MS = 15_000
/** After a refusal the stream is tried again this much later. */
const RECONNECT_MS = 30_000
/** Hints within this time ask once: where much goes on, figures change once a second. */
const GATHER_MS = 1_000
/** What is made of things of every kind. */
const OF_ALL_KINDS = 'overview'

export type LiveState = 'connecting' | 'live' | 'polling'

export interface LiveOptions {
  readonly queryClient: Pick<QueryClient, 'invalidateQueries'>
  readonly openStream: () => LiveStream
  readonly isVisible: () => boolean
}

/** What of an `EventSource` is needed. */
export interface LiveStream {
  readonly readyState: number
  addEventListener(type: string, listener: (event: { readonly data?: unknown }) => void): void
  close(): void
}

const CLOSED = 2

/**
 * Keeps what is shown up to date: hints of the server say which kinds of things have changed, and the queries whose key begins
 * with that kind ask again. Where the stream does not open or breaks, everything on the page is asked again every few seconds.
 */
export class Live {
  readonly #options: LiveOptions
  readonly #listeners = new Set<() => void>()
  readonly #gathered = new Set<string>()
  #state: LiveState = 'connecting'
  #stream: LiveStream | undefined
  #refresh: ReturnType<typeof setInterval> | undefined
  #gathering: ReturnType<typeof setTimeout> | undefined
  #reconnecting: ReturnType<typeof setTimeout> | undefined

  constructor(options: LiveOptions) {
    this.#options = options
  }

  get state(): LiveState {
    return this.#state
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Twice is fine, and so is starting again after a stop. */
  start(): void {
    if (this.#stream !== undefined || this.#reconnecting !== undefined) return
    this.#setState('connecting')
    this.#connect()
  }

  stop(): void {
    this.#stream?.close()
    this.#stream = undefined
    clearInterval(this.#refresh)
    clearTimeout(this.#gathering)
    clearTimeout(this.#reconnecting)
    this.#refresh = this.#gathering = this.#reconnecting = undefined
    this.#gathered.clear()
  }

  #connect(): void {
    this.#reconnecting = undefined
    const stream = this.#options.openStream()
    this.#stream = stream
    stream.addEventListener('open', () => {
      if (this.#stream !== stream) return
      this.#setState('live')
      // What has changed while nobody told.
      this.#askAll()
    })
    stream.addEventListener('hint', ({ data }) => {
      if (this.#stream === stream && typeof data === 'string') this.#gather(data)
    })
    stream.addEventListener('error', () => {
      if (this.#stream !== stream) return
      this.#setState('polling')
      // Else the browser tries again by itself.
      if (stream.readyState !== CLOSED) return
      this.#stream = undefined
      this.#reconnecting = setTimeout(() => this.#connect(), RECONNECT_MS)
    })
  }

  #setState(state: LiveState): void {
    if (this.#state !== state || this.#refresh === undefined) {
      clearInterval(this.#refresh)
      this.#refresh = setInterval(() => this.#askAll(), state === 'live' ? REFRESH_MS : POLL_MS)
    }
    this.#state = state
    for (const listener of this.#listeners) listener()
  }

  #gather(kind: string): void {
    this.#gathered.add(kind)
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      const kinds = [...this.#gathered, OF_ALL_KINDS]
      this.#gathered.clear()
      for (const each of kinds) void this.#options.queryClient.invalidateQueries({ queryKey: [each] })
    }, GATHER_MS)
  }

  #askAll(): void {
    if (!this.#options.isVisible()) return
    void this.#options.queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  }
}
