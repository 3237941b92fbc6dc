import {
  LAG_PAGE_MS,
  LAG_WARN_MS,
  LagWatch,
  type MirrorEvent,
  type MirrorLag,
  type MirrorSource,
  MirrorSweep,
  OutboxDrainer,
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
}

/** The drainer, the watch of the lag and the sweep: any number of processes may run them on one database. */
export function createMirror({ source, warm }: Tiers, onEvent: (event: MirrorEvent) => void): Mirror {
  const parts = { source, warm, onEvent }
  return {
    warm,
    measureLag: () => source.lag({ warnMs: LAG_WARN_MS, pageMs: LAG_PAGE_MS }),
    services: [
      named('mirror drainer', new OutboxDrainer(parts)),
      named('mirror lag', new LagWatch(parts)),
      named('mirror sweep', new MirrorSweep(parts)),
    ],
  }
}

function named(name: string, service: { start(): void; stop(): Promise<void> }): Service {
  return { name, start: () => service.start(), stop: () => service.stop() }
}
