import { type Clock, systemClock } from '../engine/clock.ts'
import {
  LAG_PAGE_MS,
  LAG_WARN_MS,
  MIRROR_RETENTION_MS,
  MIRROR_SWEEP_INTERVAL_MS,
  MIRROR_SWEEP_RUNS,
  MIRROR_SWEEP_SINCE_MS,
} from '../numbers.ts'
import { RepeatingTask } from '../runner/repeating-task.ts'
import { failureParts } from '../runner/runner-events.ts'
import type { Service } from '../runner/service.ts'
import type { MirrorEvent } from './mirror-events.ts'
import type { MirrorSource } from './mirror-source.ts'
import { reconcile } from './reconcile.ts'
import type { WarmTier } from './warm-tier.ts'

export interface MirrorSweepOptions {
  readonly source: MirrorSource
  readonly warm: WarmTier
  readonly onEvent: (event: MirrorEvent) => void
  readonly clock?: Clock
  readonly intervalMs?: number
}

/**
 * At boot and then every 30 s: compares the hashes of runs that are open in either tier or have changed lately, and corrects the warm
 * tier where it differs, whatever the reason. So it also fills a tier that has lost everything, and says when it has: until then that
 * tier knows nothing. Forgets what is old in both.
 */
export class MirrorSweep implements Service {
  readonly #options: MirrorSweepOptions
  readonly #task: RepeatingTask
  /** While the tier is being filled: what it has to know by then, and the runs that it does not know yet. */
  #filling: { readonly asOf: string; readonly missing: Set<string> } | undefined

  constructor(options: MirrorSweepOptions) {
    const { clock = systemClock, intervalMs = MIRROR_SWEEP_INTERVAL_MS, onEvent } = options
    this.#options = options
    this.#task = new RepeatingTask({
      ...{ clock, intervalMs },
      once: () => this.#sweep(),
      onFailure: (error) => onEvent({ level: 'warn', event: 'mirror.sweep_failed', ...failureParts(error) }),
    })
  }

  start(): void {
    this.#task.start()
  }

  /** The next look is now: the tier has lost everything. */
  wake(): void {
    this.#task.wake()
  }

  async stop(): Promise<void> {
    await this.#task.stop()
  }

  async #sweep(): Promise<void> {
    const { source, warm, onEvent } = this.#options
    await source.prune(MIRROR_RETENTION_MS)
    const isEmpty = (await warm.asOf()) === null
    const asOf = isEmpty ? (await source.lag({ warnMs: LAG_WARN_MS, pageMs: LAG_PAGE_MS })).asOf : undefined
    const open = await warm.openRuns()
    const runIds = [...new Set([...open, ...(await source.recentRuns(MIRROR_SWEEP_SINCE_MS))])]
    const left = new Set<string>()
    let runs = 0
    for (let from = 0; from < runIds.length; from += MIRROR_SWEEP_RUNS) {
      const done = await reconcile(source, warm, runIds.slice(from, from + MIRROR_SWEEP_RUNS))
      runs += done.corrected
      for (const runId of done.left) left.add(runId)
    }
    if (asOf === undefined) this.#filling = undefined
    else await this.#fill(asOf, left)
    if (runs > 0) onEvent({ level: 'warn', event: 'mirror.healed', by: 'sweep', runs })
    await warm.prune(MIRROR_RETENTION_MS)
  }

  /** Runs with changes on their way were left out. What they were before is missing until a later look meets each without. */
  async #fill(asOf: string, left: ReadonlySet<string>): Promise<void> {
    this.#filling ??= { asOf, missing: new Set(left) }
    const { missing } = this.#filling
    for (const runId of missing) if (!left.has(runId)) missing.delete(runId)
    if (missing.size > 0) return
    await this.#options.warm.advance(this.#filling.asOf, { isFilled: true })
    this.#filling = undefined
  }
}
