import type { MirrorLag } from './mirror-source.ts'

/** How bad the lag is. */
export type LagLevel = 'ok' | 'warn' | 'page'

/** What a mirror has to say. Identifiers, counts and durations only. */
export type MirrorEvent =
  /** The lag has another level now. */
  | ({
      readonly level: 'info' | 'warn' | 'error'
      readonly event: 'mirror.lag'
      readonly lagLevel: LagLevel
    } & MirrorLag)
  | { readonly level: 'warn'; readonly event: 'mirror.healed'; readonly by: 'sweep' | 'run_end'; readonly runs: number }
  /** The warm tier refuses this write: it was set aside, and others go on. */
  | {
      readonly level: 'error'
      readonly event: 'mirror.refused'
      readonly runId: string | null
      readonly outboxId: string
      readonly kind: string
      readonly sqlState: string
    }
  | {
      readonly level: 'warn'
      readonly event: 'mirror.drain_failed' | 'mirror.lag_failed' | 'mirror.sweep_failed'
      readonly errorName: string
      readonly message: string
    }
