import type { Intervals } from './intervals.ts'
import { listenToRun } from './run-channel.ts'
import { runNotFound } from './run-errors.ts'
import { type EventDelivery, parseSnapshot, type RunSnapshot } from './run-state.ts'
import type { RunStore } from './run-store.ts'
import { callStarflow, isDenied } from './starflow-rpc.ts'
import type { SupabasePort } from './supabase-port.ts'

export interface RunWatchOptions {
  readonly supabase: SupabasePort
  readonly store: RunStore
  readonly intervals: Intervals
  /** False: never listens, polls. */
  readonly realtime: boolean
  /** As far as it is known. */
  readonly delivery: EventDelivery | undefined
  /** Something may have changed. */
  readonly onChange: () => void
  /** The run cannot be seen any more. The watch has stopped. */
  readonly onLost: (error: unknown) => void
}

/**
 * Keeps what is known of a run up to date, from `start` until the run has ended.
 *
 * The database is the truth: broadcasts are taken where they are certain, and make it ask where they are not. It reads when a
 * channel goes live (again), since nobody knows what was sent before; every minute while it is, which also renews the watch that
 * makes the database send events; and more often while it is not.
 */
export class RunWatch {
  readonly #options: RunWatchOptions
  #delivery: EventDelivery | undefined
  #isWatching = false
  #isLive = false
  #leave: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #idlePolls = 0
  #reading: Promise<void> | undefined
  #isReadWanted = false
  #lastProblem: unknown

  constructor(options: RunWatchOptions) {
    this.#options = options
    this.#delivery = options.delivery
  }

  /** Why the last read failed; undefined when it did not. */
  get lastProblem(): unknown {
    return this.#lastProblem
  }

  /** Twice is fine, and so is starting again. */
  start(): void {
    if (this.#isWatching || this.#options.store.isSettled) return
    this.#isWatching = true
    this.#idlePolls = 0
    if (this.#delivery === undefined) this.#readSoon()
    else this.#listen()
  }

  /** Twice is fine. */
  stop(): void {
    this.#isWatching = false
    this.#isLive = false
    clearTimeout(this.#timer)
    this.#leave?.()
    this.#leave = undefined
  }

  /**
   * Reads the state as it is now: a read that is under way may be older, so this one follows it.
   *
   * @param isWanted asked when the answer is there: false drops it
   * @throws StarflowError when it cannot be read
   */
  async read(isWanted: () => boolean = () => true): Promise<void> {
    await this.#idle()
    this.#reading = this.#readOnce(isWanted)
    try {
      await this.#reading
    } finally {
      this.#reading = undefined
    }
  }

  /** Reads come one after the other, so that none overtakes another. */
  async #idle(): Promise<void> {
    while (this.#reading !== undefined) await this.#reading.catch(() => {})
  }

  async #readOnce(isWanted: () => boolean): Promise<void> {
    const { supabase, store } = this.#options
    const { runId } = store.run
    const snapshot = parseSnapshot(await callStarflow(supabase, 'get_run_with_states', { run_id: runId }))
    if (!isWanted()) return
    if (snapshot === null) throw runNotFound(runId)
    this.#take(snapshot)
  }

  #take(snapshot: RunSnapshot): void {
    this.#delivery = snapshot.delivery
    if (this.#options.store.takeSnapshot(snapshot)) this.#idlePolls = 0
    this.#options.onChange()
  }

  #listen(): void {
    const { supabase, store, intervals, realtime, onChange } = this.#options
    if (realtime && this.#delivery !== 'off' && this.#leave === undefined) {
      this.#leave = listenToRun(
        supabase,
        { runId: store.run.runId, isPrivate: this.#delivery === 'private', intervals },
        {
          onLive: () => {
            this.#isLive = true
            this.#readSoon()
          },
          onDown: () => {
            this.#isLive = false
            this.#idlePolls = 0
            this.#readSoon()
          },
          onBroadcast: (payload) => {
            const mustRead = store.takeBroadcast(payload)
            onChange()
            if (mustRead) this.#readSoon()
            else this.#stopIfSettled()
          },
        },
      )
    }
    this.#schedule()
  }

  #readSoon(): void {
    if (this.#isReadWanted) return
    this.#isReadWanted = true
    clearTimeout(this.#timer)
    void this.#readAndGoOn()
  }

  async #readAndGoOn(): Promise<void> {
    await this.#idle()
    // Whoever asks from here on knows of something that this read may not see.
    this.#isReadWanted = false
    if (!this.#isWatching) return
    try {
      // What comes after the end of the watch changes nothing any more.
      await this.read(() => this.#isWatching)
      this.#lastProblem = undefined
    } catch (error) {
      this.#lastProblem = error
      if (isLost(error)) {
        this.stop()
        this.#options.onLost(error)
      }
    }
    if (!this.#isWatching || this.#stopIfSettled() || this.#isReadWanted) return
    if (this.#delivery === undefined) this.#schedule()
    else this.#listen()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (!this.#isWatching) return
    const { refreshMs, pollMs, maxPollMs } = this.#options.intervals
    const isHealthy = this.#isLive && this.#lastProblem === undefined
    const delay = isHealthy ? refreshMs : Math.min(pollMs * 2 ** this.#idlePolls++, maxPollMs)
    this.#timer = setTimeout(() => this.#readSoon(), delay)
  }

  #stopIfSettled(): boolean {
    if (!this.#options.store.isSettled) return false
    this.stop()
    return true
  }
}

/** Whether there is nothing to be had from asking again. */
function isLost(error: unknown): boolean {
  return isDenied(error) || (error as { code?: unknown }).code === 'SF802'
}
