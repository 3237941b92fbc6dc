import { liveRunHash } from './live-run.ts'
import type { MirrorSource } from './mirror-source.ts'
import type { Correction, WarmTier } from './warm-tier.ts'

/**
 * Compares runs in both tiers and corrects the warm one. The warm tier is read first, and corrected only where it is still what was read:
 * whatever comes between is newer than the comparison. Runs with changes on their way are left to these. Returns how many it corrected,
 * and which it left.
 */
export async function reconcile(
  source: MirrorSource,
  warm: WarmTier,
  runIds: readonly string[],
): Promise<{ readonly corrected: number; readonly left: readonly string[] }> {
  const live = new Map((await warm.readRuns(runIds)).map((run) => [run.runId, run]))
  const snapshots = new Map((await source.snapshots(runIds)).map((run) => [run.runId, run]))
  const corrections: Correction[] = []
  for (const runId of runIds) {
    const [had, should] = [live.get(runId), snapshots.get(runId)]
    const outboxId = had?.outboxId ?? null
    if (should === undefined) {
      if (had !== undefined) corrections.push({ runId, run: null, activeNodes: {}, outboxId })
    } else if (!should.isPending && (had === undefined || liveRunHash(had) !== liveRunHash(should))) {
      corrections.push({ runId, run: should.run, activeNodes: should.activeNodes, outboxId })
    }
  }
  const left = runIds.filter((runId) => snapshots.get(runId)?.isPending === true)
  return { corrected: corrections.length === 0 ? 0 : await warm.correct(corrections), left }
}
