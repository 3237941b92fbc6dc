import { isStarflowError } from '@starflow/errors'
import { MAX_WRITE_RETRY_DELAY_MS, WRITE_RETRY_DELAY_MS } from '../numbers.ts'
import { type Clock, sleep } from './clock.ts'

export interface DurableWritesOptions {
  readonly clock: Clock
  /** How long a store that does not answer is asked again. Default: until it answers. */
  readonly patienceMs?: number
  /** Aborted when the run is no longer this process's to write. */
  readonly signal: AbortSignal
  readonly onRetry: (retry: { readonly method: string; readonly attempt: number; readonly error: unknown }) => void
}

/** The run was stopped here, so what was about to be written no longer counts. */
export class WritesClosedError extends Error {
  constructor() {
    super('This run is written elsewhere, or has ended.')
    this.name = 'WritesClosedError'
  }
}

/**
 * Writes of a run, each awaited by its caller. One that fails is tried again until the store answers, however long it is
 * away: the port's methods may be repeated, and an outage must not cost a handler's work. Whether the claim still stands then,
 * the store says. What it refuses is not repeated.
 */
export class DurableWrites {
  readonly #options: DurableWritesOptions
  readonly #open = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(options: DurableWritesOptions) {
    this.#options = options
  }

  /** @throws WritesClosedError once the writes are closed, else what the last try failed with */
  write<T>(method: string, call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new WritesClosedError())
    return this.#track(this.#try(method, call))
  }

  /** No write begins after this; settles when those under way have. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#open)
  }

  /** A write that ends the run here: the only one that is made after the writes were closed. */
  async last<T>(method: string, call: () => Promise<T>): Promise<T> {
    await this.close()
    return await this.#try(method, call)
  }

  #track<T>(write: Promise<T>): Promise<T> {
    const settled = write.catch(() => {}).then(() => void this.#open.delete(settled))
    this.#open.add(settled)
    return write
  }

  #try<T>(method: string, call: () => Promise<T>): Promise<T> {
    return untilAnswered(this.#options, method, call)
  }
}

/**
 * Calls the store until it answers. What it refuses is an answer.
 *
 * @throws WritesClosedError when the signal is aborted, else what the last try failed with
 */
export async function untilAnswered<T>(
  { clock, signal, onRetry, patienceMs = Number.POSITIVE_INFINITY }: DurableWritesOptions,
  method: string,
  call: () => Promise<T>,
): Promise<T> {
  const giveUpAt = clock.now() + patienceMs
  for (let attempt = 1, delayMs = WRITE_RETRY_DELAY_MS; ; attempt++, delayMs *= 2) {
    if (signal.aborted) throw new WritesClosedError()
    try {
      return await answerOf(call, signal)
    } catch (error) {
      if (error instanceof WritesClosedError || isAnswer(error) || clock.now() >= giveUpAt) throw error
      onRetry({ method, attempt, error })
      await sleep(clock, Math.min(delayMs, MAX_WRITE_RETRY_DELAY_MS), signal)
    }
  }
}

/** An adapter's own error for a store that could not be reached, or has failed itself, is no answer. */
function isAnswer(error: unknown): boolean {
  if (!isStarflowError(error)) return false
  const { status, isPassing } = error.fields
  if (error.code === 'SF821') return isPassing !== true
  return error.code !== 'SF803' || (typeof status === 'number' && status > 0 && status < 500)
}

/** A store that never answers holds up nobody who has stopped asking. */
function answerOf<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new WritesClosedError())
    signal.addEventListener('abort', giveUp)
    call()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', giveUp))
  })
}
