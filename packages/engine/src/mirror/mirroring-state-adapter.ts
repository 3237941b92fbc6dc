import type { RunClaim } from '../run-record.ts'
import type { QueueingStateAdapter } from '../state-adapter.ts'
import { ProgressSender } from './progress-sender.ts'
import type { WarmTier } from './warm-tier.ts'

/** A cold adapter that can put every write into an outbox, in the transaction of the write. */
export type MirrorableAdapter = QueueingStateAdapter & { setMirroring(isOn: boolean): Promise<void> }

export interface MirroringOptions {
  readonly warm: Pick<WarmTier, 'reportProgress'>
  /** Progress that could not be sent is dropped, and said here. */
  readonly onProgressFailure: (error: unknown) => void
}

/**
 * A cold adapter whose writes are mirrored, and whose steps' progress goes to the warm tier. Everything else is the cold adapter's: it
 * stays the authority, and a warm tier that is slow or gone costs no run anything.
 */
export type MirroringWorkflowStateAdapter<TCold extends QueueingStateAdapter = QueueingStateAdapter> = TCold

/** Wraps a cold adapter, and switches mirroring on in its database, for whoever writes there. */
export async function openMirroring<TCold extends MirrorableAdapter>(
  cold: TCold,
  { warm, onProgressFailure }: MirroringOptions,
): Promise<MirroringWorkflowStateAdapter<TCold>> {
  await cold.setMirroring(true)
  return withProgress(cold, new ProgressSender(warm, onProgressFailure))
}

function withProgress<TCold extends QueueingStateAdapter>(cold: TCold, progress: ProgressSender): TCold {
  const own: Partial<QueueingStateAdapter> = {
    bind: (claim: RunClaim) => withProgress(cold.bind(claim) as TCold, progress),
    onStepProgress: async (runId, nodeId, value) => progress.send(runId, nodeId, value),
    close: async () => {
      await progress.settled()
      await cold.close()
    },
  }
  return new Proxy(cold, {
    get(target, name) {
      const value = Object.hasOwn(own, name) ? Reflect.get(own, name) : Reflect.get(target, name)
      // Private fields are the target's, not the proxy's.
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
