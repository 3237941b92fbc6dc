import {
  LAG_PAGE_MS,
  LAG_WARN_MS,
  LagWatch,
  type MirrorEvent,
  type MirrorLag,
  type MirrorSource,
  MirrorSweep,
  OutboxDrainer,
  type SetAsideChange,
  type WarmTier,
} from '@starflow/engine'
import type { Service } from '../service.ts'

/** The two sides of a mirror. */
export interface Tiers {
  readonly source: MirrorSource
  readonly warm: WarmTier
}

/** A mirror that this process helps to keep. */
export interface Mirror {
  readonly warm: WarmTier
  readonly services: readonly Service[]
  measureLag(): Promise<MirrorLag>
  /** Writes that the warm tier refused, the latest first. */
  refused(limit: number): Promise<readonly SetAsideChange[]>
}

/** The drainer, the watch of the lag and the sweep: any number of processes may run them on one database. */
export function createMirror({ source, warm }: Tiers, onEvent: (event: MirrorEvent) => void): Mirror {
  const parts = { source, warm, onEvent }
  const sweep = new MirrorSweep(parts)
  return {
    warm,
    measureLag: () => source.lag({ warnMs: LAG_WARN_MS, pageMs: LAG_PAGE_MS }),
    refused: (limit) => source.refused(limit),
    services: [
      named('mirror drainer', new OutboxDrainer(parts)),
      named('mirror lag', new LagWatch({ ...parts, onEmpty: () => sweep.wake() })),
      named('mirror sweep', sweep),
    ],
  }
}

function named(name: string, service: { start(): void; stop(): Promise<void> }): Service {
  return { name, start: () => service.start(), stop: () => service.stop() }
}
