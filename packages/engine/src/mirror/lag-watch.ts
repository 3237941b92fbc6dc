import { type Clock, systemClock } from '../engine/clock.ts'
import { LAG_INTERVAL_MS, LAG_PAGE_MS, LAG_PATIENCE_MS, LAG_WARN_MS } from '../numbers.ts'
import { RepeatingTask } from '../runner/repeating-task.ts'
import { failureParts } from '../runner/runner-events.ts'
import type { Service } from '../runner/service.ts'
import type { LagLevel, MirrorEvent } from './mirror-events.ts'
import type { MirrorLag, MirrorSource } from './mirror-source.ts'
import type { WarmTier } from './warm-tier.ts'

export interface LagWatchOptions {
  readonly source: Pick<MirrorSource, 'lag'>
  readonly warm: Pick<WarmTier, 'advance'>
  readonly onEvent: (event: MirrorEvent) => void
  /** The warm tier knows nothing and has to be filled. */
  readonly onEmpty?: () => void
  readonly clock?: Clock
  readonly intervalMs?: number
  readonly patienceMs?: number
  readonly warnMs?: number
  readonly pageMs?: number
}

const SEVERITY = { ok: 'info', warn: 'warn', page: 'error' } as const satisfies Record<LagLevel, MirrorEvent['level']>

/** Measures how far the warm tier is behind, tells it up to when it knows everything, and says so when that becomes bad, or good again. */
export class LagWatch implements Service {
  readonly #options: LagWatchOptions
  readonly #task: RepeatingTask
  #level: LagLevel = 'ok'
  #lag: MirrorLag | undefined

  constructor(options: LagWatchOptions) {
    const { clock = systemClock, intervalMs = LAG_INTERVAL_MS, patienceMs = LAG_PATIENCE_MS, onEvent } = options
    this.#options = options
    this.#task = new RepeatingTask({
      // A tier that does not answer at all must not keep the next look waiting.
      ...{ clock, intervalMs, patienceMs },
      once: () => this.#measure(),
      onFailure: (error) => onEvent({ level: 'warn', event: 'mirror.lag_failed', ...failureParts(error) }),
    })
  }

  /** As it was last measured, for metrics. */
  get lag(): MirrorLag | undefined {
    return this.#lag
  }

  start(): void {
    this.#task.start()
  }

  async stop(): Promise<void> {
    await this.#task.stop()
  }

  async #measure(): Promise<void> {
    const { source, warm, onEvent, onEmpty, warnMs = LAG_WARN_MS, pageMs = LAG_PAGE_MS } = this.#options
    const lag = await source.lag({ warnMs, pageMs })
    this.#lag = lag
    const level = lag.overdue > 0 ? 'page' : lag.late > 0 ? 'warn' : 'ok'
    if (level !== this.#level) {
      this.#level = level
      onEvent({ level: SEVERITY[level], event: 'mirror.lag', lagLevel: level, ...lag })
    }
    // Last: a tier that is down must not hide its lag.
    if (!(await warm.advance(lag.asOf))) onEmpty?.()
  }
}
