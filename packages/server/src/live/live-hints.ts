import { setTimeout as pause } from 'node:timers/promises'
import { LIVE_INTERVAL_MS } from '../numbers.ts'
import { LIVE_KINDS, type LiveKind, type LiveMarks, type LiveMarksSource } from './live-marks.ts'

/** What has changed since the last look: never how. */
export interface LiveHint {
  readonly kinds: readonly LiveKind[]
  /** Of the runs that the listener watches. */
  readonly runIds: readonly string[]
}

export interface LiveListener {
  /** Runs that it may see; of no other is it ever told. */
  readonly runIds: readonly string[]
  tell(hint: LiveHint): void
}

export interface LiveHintsOptions {
  readonly source: LiveMarksSource
  readonly onFailure: (error: unknown) => void
  readonly intervalMs?: number
}

/**
 * Tells listeners that something has changed. One look per second for all of them together, and none while nobody listens. What has changed is
 * told twice, after this look and after the next: counters move before their transaction commits, and whoever asks in between sees the old.
 */
export class LiveHints {
  readonly #source: LiveMarksSource
  readonly #onFailure: (error: unknown) => void
  readonly #intervalMs: number
  readonly #listeners = new Set<LiveListener>()
  #isLooking = false

  constructor({ source, onFailure, intervalMs = LIVE_INTERVAL_MS }: LiveHintsOptions) {
    this.#source = source
    this.#onFailure = onFailure
    this.#intervalMs = intervalMs
  }

  /** Listens until the function that it returns is called. */
  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener)
    if (!this.#isLooking) void this.#look()
    return () => this.#listeners.delete(listener)
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    let before: LiveMarks | undefined
    let lately = NO_CHANGES
    while (this.#listeners.size > 0) {
      const marks = await this.#marks()
      const changes = marks === undefined || before === undefined ? NO_CHANGES : changesBetween(before, marks)
      this.#tell(union(lately, changes))
      lately = changes
      before = marks ?? before
      await pause(this.#intervalMs, undefined, { ref: false })
    }
    this.#isLooking = false
  }

  async #marks(): Promise<LiveMarks | undefined> {
    const runIds = new Set([...this.#listeners].flatMap((listener) => listener.runIds))
    try {
      return await this.#source.read([...runIds])
    } catch (error) {
      this.#onFailure(error)
      return undefined
    }
  }

  #tell({ kinds, runIds }: Changes): void {
    for (const listener of this.#listeners) {
      const watched = listener.runIds.filter((runId) => runIds.has(runId))
      if (kinds.size > 0 || watched.length > 0) listener.tell({ kinds: [...kinds], runIds: watched })
    }
  }
}

interface Changes {
  readonly kinds: ReadonlySet<LiveKind>
  readonly runIds: ReadonlySet<string>
}

const NO_CHANGES: Changes = { kinds: new Set(), runIds: new Set() }

function changesBetween(before: LiveMarks, after: LiveMarks): Changes {
  return {
    kinds: new Set(LIVE_KINDS.filter((kind) => before.kinds[kind] !== after.kinds[kind])),
    // One that is watched from now on has no mark to compare with.
    runIds: new Set([...after.runs].flatMap(([id, mark]) => ((before.runs.get(id) ?? mark) === mark ? [] : [id]))),
  }
}

function union(left: Changes, right: Changes): Changes {
  return {
    kinds: new Set([...left.kinds, ...right.kinds]),
    runIds: new Set([...left.runIds, ...right.runIds]),
  }
}
