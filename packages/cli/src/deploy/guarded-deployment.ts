import { type FencedFunction, fence, restore } from '@starflow/core/operations'
import type { Sql } from 'postgres'
import { withRolloutLock } from '../operations/rollout-lock.ts'

export interface GuardedDeployment {
  readonly sql: Sql
  readonly databaseUrl: string
  readonly functionNames: readonly string[]
  /** Under this name the functions are fenced. The same name may go on where a killed one has stopped. */
  readonly fencedBy: string
  /** What others are told who overlap with this: the fence's name and the person. */
  readonly holder: string
  readonly onFenced: (functions: readonly FencedFunction[]) => void
  readonly onRestored: (functions: readonly FencedFunction[]) => void
}

/**
 * Does `work` while worker functions are fenced, and restores what the fence recorded whether it succeeds or fails. Killed
 * in between, it leaves the record: the next one of that name keeps it and restores it.
 *
 * @throws StarflowError SF632 an overlapping one, SF421 a fence of somebody else, SF422; and what `work` throws
 */
export async function whileFenced(deployment: GuardedDeployment, work: () => Promise<void>): Promise<void> {
  const { sql, functionNames, fencedBy, holder } = deployment
  await withRolloutLock({ url: deployment.databaseUrl, functionNames, holder }, async () => {
    deployment.onFenced(await fence(sql, functionNames, fencedBy))
    try {
      await work()
    } finally {
      deployment.onRestored(await restore(sql, functionNames))
    }
  })
}
