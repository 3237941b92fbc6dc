import type { Intervals } from './intervals.ts'
import { hasEnded, isRefusal } from './realtime-token.ts'
import type { ChannelPort, SupabasePort } from './supabase-port.ts'

/** Who listens to a run. */
export interface RunListener {
  /** Every broadcast from now on is heard: what came before has to be read. Again after each time that it was down. */
  onLive(): void
  /** No broadcast is heard. */
  onDown(): void
  onBroadcast(payload: unknown): void
}

const rooms = new WeakMap<SupabasePort, Map<string, RunChannel>>()

/** Joins the channel of a run; gives what leaves it. One channel serves all listeners of a supabase client: it can have no second one. */
export function listenToRun(
  supabase: SupabasePort,
  options: { runId: string; isPrivate: boolean; intervals: Intervals },
  listener: RunListener,
): () => void {
  const channels = rooms.get(supabase) ?? new Map<string, RunChannel>()
  rooms.set(supabase, channels)
  const { runId } = options
  const channel = channels.get(runId) ?? new RunChannel(supabase, options, () => channels.delete(runId))
  channels.set(runId, channel)
  return channel.add(listener)
}

/**
 * The channel `pgflow:run:<run id>`: joined with the first listener, left with the last. supabase-js joins a channel in trouble
 * again by itself; one that was closed, by a token that ended for example, it forgets, and this joins a new one.
 */
class RunChannel {
  readonly #supabase: SupabasePort
  readonly #topic: string
  readonly #isPrivate: boolean
  readonly #intervals: Intervals
  readonly #onLeft: () => void
  readonly #listeners = new Set<RunListener>()
  #channel: ChannelPort | undefined
  #isLive = false
  #isBusy = false
  #failures = 0
  #rejoinTimer: ReturnType<typeof setTimeout> | undefined

  constructor(
    supabase: SupabasePort,
    options: { runId: string; isPrivate: boolean; intervals: Intervals },
    onLeft: () => void,
  ) {
    this.#supabase = supabase
    this.#topic = `pgflow:run:${options.runId}`
    this.#isPrivate = options.isPrivate
    this.#intervals = options.intervals
    this.#onLeft = onLeft
  }

  add(listener: RunListener): () => void {
    this.#listeners.add(listener)
    if (this.#isLive) listener.onLive()
    void this.#settle()
    return () => {
      this.#listeners.delete(listener)
      void this.#settle()
    }
  }

  /** Joins or leaves, as there are listeners. One after the other: supabase-js gives the same channel until it has been left. */
  async #settle(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    if (this.#listeners.size === 0) await this.#leave()
    else if (this.#channel === undefined && this.#rejoinTimer === undefined) await this.#join()
    this.#isBusy = false
    const isWanted = this.#listeners.size > 0
    if (!isWanted && this.#channel === undefined) this.#onLeft()
    else if (isWanted === (this.#channel === undefined) && this.#rejoinTimer === undefined) await this.#settle()
  }

  async #join(): Promise<void> {
    try {
      // A join that is asked for before the client has its token would go out without it.
      await this.#renewToken()
      const channel = this.#supabase.channel(this.#topic, { config: { private: this.#isPrivate } })
      this.#channel = channel
      channel
        .on('broadcast', { event: '*' }, ({ payload }) => {
          for (const listener of this.#listeners) listener.onBroadcast(payload)
        })
        .subscribe((status, error) => this.#onStatus(channel, status, error))
    } catch {
      // No web socket here, or none that opens: whoever listens polls.
      this.#forget()
    }
  }

  async #leave(): Promise<void> {
    clearTimeout(this.#rejoinTimer)
    this.#rejoinTimer = undefined
    const channel = this.#channel
    this.#channel = undefined
    this.#isLive = false
    if (channel !== undefined) await this.#remove(channel)
  }

  #onStatus(channel: ChannelPort, status: string, error: Error | undefined): void {
    if (channel !== this.#channel) return
    if (status === 'SUBSCRIBED') {
      this.#failures = 0
      this.#isLive = true
      for (const listener of this.#listeners) listener.onLive()
      return
    }
    this.#goDown()
    if (status === 'CLOSED') this.#forget()
    // It is joined again with the token that there is then.
    else void this.#renewToken(error).catch(() => {})
  }

  #forget(): void {
    this.#channel = undefined
    this.#goDown()
    const { rejoinMs, maxRejoinMs } = this.#intervals
    const delay = Math.min(rejoinMs * 2 ** this.#failures++, maxRejoinMs)
    this.#rejoinTimer = setTimeout(() => {
      this.#rejoinTimer = undefined
      void this.#settle()
    }, delay)
  }

  #goDown(): void {
    if (!this.#isLive) return
    this.#isLive = false
    for (const listener of this.#listeners) listener.onDown()
  }

  /** One that was given by hand stays until it is of no use: the application may have set it. */
  async #renewToken(problem?: Error): Promise<void> {
    const { realtime } = this.#supabase
    const isKept = realtime._isManualToken?.() === true
    if (!isKept || hasEnded(realtime.accessTokenValue, Date.now()) || isRefusal(problem)) await realtime.setAuth()
  }

  async #remove(channel: ChannelPort): Promise<void> {
    try {
      await this.#supabase.removeChannel(channel)
    } catch {
      // It is gone either way.
    }
  }
}
