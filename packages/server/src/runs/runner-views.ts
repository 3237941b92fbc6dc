import type { HeldLease, QueueingStateAdapter, RunnerRecord, UnservedRun } from '@starflow/engine'
import { type Scope, workspaceOf } from '../workspace.ts'

/** A process that executes whole runs. */
export interface RunnerView extends Omit<RunnerRecord, 'runnerPool' | 'workspaceId'> {
  readonly pool: string | null
  readonly workspace: string | null
}

/** A run that a runner holds. */
export interface LeaseView extends Pick<HeldLease, 'runId' | 'leaseUntil' | 'lastHeartbeat'> {
  readonly flow: string
  readonly workspace: string
  readonly runner: string
  readonly state: 'claimed' | 'running'
  /** How often the run was taken, by whomever. */
  readonly claims: number
}

/** A queued run that no live runner claims, and why. */
export interface UnservedView extends Pick<UnservedRun, 'runId' | 'queuedAt' | 'reason' | 'detail'> {
  readonly flow: string
  readonly pool: string | null
}

/** Those that were heard of within the last day. */
export async function readRunners(adapter: QueueingStateAdapter): Promise<readonly RunnerView[]> {
  return (await adapter.listRunners()).map(({ runnerPool, workspaceId, ...rest }) => ({
    ...{ ...rest, pool: runnerPool, workspace: workspaceId },
  }))
}

/** The one whose lease is over first at the top. */
export async function readLeases(
  adapter: QueueingStateAdapter,
  scope: Scope,
  limit: number,
): Promise<readonly LeaseView[]> {
  const leases = await adapter.listLeases({ workspaceId: workspaceOf(scope), limit })
  return leases.flatMap(({ runId, templateId, workspaceId, runnerId, claimState, claimAttempts, ...lease }) =>
    // A run that has just ended keeps its lease until its runner has said all.
    claimState === 'claimed' || claimState === 'running'
      ? {
          ...{ runId, flow: templateId, workspace: workspaceId, runner: runnerId, state: claimState },
          ...{ claims: claimAttempts, leaseUntil: lease.leaseUntil, lastHeartbeat: lease.lastHeartbeat },
        }
      : [],
  )
}

/** The oldest first. */
export async function readUnservedRuns(
  adapter: QueueingStateAdapter,
  scope: Scope,
  limit: number,
): Promise<readonly UnservedView[]> {
  const runs = await adapter.listUnservedRuns({ workspaceId: workspaceOf(scope), limit })
  return runs.map(({ runId, templateId, runnerPool, queuedAt, reason, detail }) => ({
    ...{ runId, flow: templateId, pool: runnerPool, queuedAt, reason, detail },
  }))
}
