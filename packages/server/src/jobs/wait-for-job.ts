import { setTimeout as pause } from 'node:timers/promises'
import { JOB_POLL_MS } from '../numbers.ts'
import type { ClaimedJob } from './worker-jobs.ts'

/** Asks again and again until there is a job, the time is over, or nobody waits for the answer any longer. */
export async function waitForJob(
  claim: () => Promise<ClaimedJob | null>,
  waitMs: number,
  signal: AbortSignal,
): Promise<ClaimedJob | null> {
  const deadline = performance.now() + waitMs
  while (!signal.aborted) {
    const job = await claim()
    const leftMs = deadline - performance.now()
    if (job !== null || leftMs <= 0) return job
    await pause(Math.min(JOB_POLL_MS, leftMs), undefined, { signal }).catch(() => {})
  }
  return null
}
