import { isStarflowError } from '@starflow/errors'
import { type Clock, systemClock } from '../engine/clock.ts'
import { DRAIN_BATCH_CHANGES, DRAIN_BATCH_RUNS, DRAIN_INTERVAL_MS } from '../numbers.ts'
import { ENDED_STATUSES } from '../run-record.ts'
import { RepeatingTask } from '../runner/repeating-task.ts'
import { failureParts } from '../runner/runner-events.ts'
import type { Service } from '../runner/service.ts'
import type { MirrorEvent } from './mirror-events.ts'
import type { MirrorChange, MirrorSource } from './mirror-source.ts'
import { reconcile } from './reconcile.ts'
import type { WarmTier } from './warm-tier.ts'

export interface OutboxDrainerOptions {
  readonly source: MirrorSource
  readonly warm: WarmTier
  readonly onEvent: (event: MirrorEvent) => void
  readonly clock?: Clock
  readonly intervalMs?: number
}

const ENDS: ReadonlySet<unknown> = new Set(ENDED_STATUSES)

/**
 * Brings what was written to the warm tier, four times a second. Any number of processes may do so: what one of them has taken the
 * others leave alone. When a run has ended its two sides are compared.
 */
export class OutboxDrainer implements Service {
  readonly #options: OutboxDrainerOptions
  readonly #task: RepeatingTask

  constructor(options: OutboxDrainerOptions) {
    const { clock = systemClock, intervalMs = DRAIN_INTERVAL_MS, onEvent } = options
    this.#options = options
    this.#task = new RepeatingTask({
      // Each of its calls has a limit; how many there are depends on how many changes are refused.
      ...{ clock, intervalMs },
      once: () => this.#drainBatch(),
      onFailure: (error) => onEvent({ level: 'warn', event: 'mirror.drain_failed', ...failureParts(error) }),
    })
  }

  start(): void {
    this.#task.start()
  }

  async stop(): Promise<void> {
    await this.#task.stop()
  }

  async #drainBatch(): Promise<void> {
    const { source, warm, onEvent } = this.#options
    const limit = { runs: DRAIN_BATCH_RUNS, changes: DRAIN_BATCH_CHANGES }
    const refused: Refusal[] = []
    const applied = await source.drain(limit, async (changes) => {
      refused.push(...(await applyWhatCan(warm, changes)))
      return refused.map(({ change, reason }) => ({ id: change.id, reason }))
    })
    for (const { change, sqlState } of refused) {
      const { id: outboxId, runId, kind } = change
      onEvent({ level: 'error', event: 'mirror.refused', runId, outboxId, kind, sqlState })
    }
    if (applied.length === 0) return
    // There may be more than fits into one batch.
    this.#task.wake()
    const ended = endedRuns(applied)
    if (ended.length === 0) return
    const { corrected: runs } = await reconcile(source, warm, ended)
    if (runs > 0) onEvent({ level: 'warn', event: 'mirror.healed', by: 'run_end', runs })
  }
}

interface Refusal {
  readonly change: MirrorChange
  readonly reason: string
  readonly sqlState: string
}

/**
 * A batch is applied whole. One change that the warm tier refuses would hold up all others, and be in each batch again: so it is looked
 * for, by halves, and the others go on in their order.
 */
async function applyWhatCan(warm: Pick<WarmTier, 'apply'>, changes: readonly MirrorChange[]): Promise<Refusal[]> {
  try {
    await warm.apply(changes)
    return []
  } catch (error) {
    const refusal = contentRefusal(error)
    const [change] = changes
    if (refusal === undefined || change === undefined) throw error
    if (changes.length === 1) return [{ change, ...refusal }]
    const half = Math.ceil(changes.length / 2)
    const first = await applyWhatCan(warm, changes.slice(0, half))
    return [...first, ...(await applyWhatCan(warm, changes.slice(half)))]
  }
}

/** What Postgres says of the content of a row: data that is wrong (22), a constraint (23), an exception (P0). Anything else may pass. */
function contentRefusal(error: unknown): Pick<Refusal, 'reason' | 'sqlState'> | undefined {
  if (!isStarflowError(error, 'SF803')) return undefined
  const { sqlState } = error.fields
  if (typeof sqlState !== 'string' || !/^(22|23|P0)/.test(sqlState)) return undefined
  return { reason: error.detail ?? error.message, sqlState }
}

function endedRuns(changes: readonly MirrorChange[]): readonly string[] {
  const ended = changes.filter(({ kind, payload }) => kind === 'run' && ENDS.has(payload.status))
  return [...new Set(ended.map(({ runId }) => runId as string))]
}
