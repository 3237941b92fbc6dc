import { type Clock, systemClock } from '../engine/clock.ts'
import {
  CONTACT_INTERVAL_MS,
  LEASE_HEARTBEAT_MS,
  LEASE_TTL_MS,
  MAX_RUNNER_LOSSES,
  SWEEP_INTERVAL_MS,
} from '../numbers.ts'
import type { RunQueue, SweptRun } from '../state-adapter.ts'
import { RepeatingTask } from './repeating-task.ts'
import type { Service } from './service.ts'
import { StoreContact } from './store-contact.ts'

export interface LeaseSweepOptions {
  readonly adapter: Pick<RunQueue, 'expireOldLeases' | 'listRunners'> & { readonly isRemote?: boolean }
  /** Shared with whatever else of this process calls the store. Default: its own. */
  readonly contact?: StoreContact
  readonly onSwept: (runs: readonly SweptRun[]) => void
  readonly onFailure: (error: unknown) => void
  readonly clock?: Clock
  /** Default: 30 s, or, with its own contact, 10 s. */
  readonly intervalMs?: number
  readonly leaseTtlMs?: number
}

/**
 * Finds the runs of lost runners, and the waits that are over: once at boot and then every 30 s. Any process may do it, several
 * at once; what one of them found the others do not. After the store was away, and at the boot of a process that cannot know
 * whether it was, live runners come first: no lease is judged before the store has answered for half a lease. Where nothing else of
 * the process calls the store, the sweep comes as often as leases are renewed: an outage that falls between two sweeps is too short
 * for a lease to run out.
 */
export class LeaseSweep implements Service {
  readonly #task: RepeatingTask

  constructor(options: LeaseSweepOptions) {
    const { adapter, onSwept, onFailure, clock = systemClock } = options
    const intervalMs = options.intervalMs ?? (options.contact === undefined ? LEASE_HEARTBEAT_MS : SWEEP_INTERVAL_MS)
    const ttlMs = options.leaseTtlMs ?? LEASE_TTL_MS
    const contact =
      options.contact ?? new StoreContact(clock, { settleMs: ttlMs / 2, isRemote: adapter.isRemote ?? false })
    const sweep = {
      ttlMs,
      maxLosses: MAX_RUNNER_LOSSES,
      reason: 'runner_lost',
    }
    this.#task = new RepeatingTask({
      ...{ clock, onFailure },
      intervalMs: () => (contact.isSettled ? intervalMs : Math.min(intervalMs, CONTACT_INTERVAL_MS)),
      once: async () => {
        if (!contact.isSettled) return void (await contact.watch(() => adapter.listRunners()))
        const swept = await contact.watch(() => adapter.expireOldLeases(sweep))
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
