import { type Clock, systemClock } from '../engine/clock.ts'
import { LEASE_TTL_MS, MAX_RUNNER_LOSSES, SWEEP_INTERVAL_MS } from '../numbers.ts'
import type { RunQueue, SweptRun } from '../state-adapter.ts'
import { RepeatingTask } from './repeating-task.ts'
import type { Service } from './service.ts'

export interface LeaseSweepOptions {
  readonly adapter: Pick<RunQueue, 'expireOldLeases'>
  readonly onSwept: (runs: readonly SweptRun[]) => void
  readonly onFailure: (error: unknown) => void
  readonly clock?: Clock
  readonly intervalMs?: number
  readonly leaseTtlMs?: number
}

/**
 * Finds the runs of lost runners, and the waits that are over: once at boot and then every 30 s. Any process may do it, several
 * at once; what one of them found the others do not.
 */
export class LeaseSweep implements Service {
  readonly #task: RepeatingTask

  constructor(options: LeaseSweepOptions) {
    const { adapter, onSwept, onFailure, clock = systemClock, intervalMs = SWEEP_INTERVAL_MS } = options
    const sweep = {
      ttlMs: options.leaseTtlMs ?? LEASE_TTL_MS,
      maxLosses: MAX_RUNNER_LOSSES,
      reason: 'runner_lost',
    }
    this.#task = new RepeatingTask({
      ...{ clock, intervalMs, onFailure },
      once: async () => {
        const swept = await adapter.expireOldLeases(sweep)
        if (swept.length > 0) onSwept(swept)
      },
    })
  }

  start(): void {
    this.#task.start()
  }

  async stop(): Promise<void> {
    await this.#task.stop()
  }
}
