import { createHash } from 'node:crypto'
import type { Json } from '@starflow/dsl'

/** A run as it is mirrored: the columns of `workflow_runs` without what only its runner needs and what each heartbeat changes. */
export type MirroredRun = {
  readonly id: string
  readonly template_id: string | null
  readonly workspace_id: string
  readonly env: string
  readonly status: string
  readonly claim_state: string
  readonly phase: string | null
  readonly leased_by: string | null
} & { readonly [column: string]: Json }

/** A node that has begun and not ended. */
export interface ActiveNode {
  readonly attempt: number | null
  readonly since: string
}

/** A run as the cold tier has it. */
export interface RunSnapshot {
  readonly runId: string
  readonly run: MirroredRun
  readonly activeNodes: Readonly<Record<string, ActiveNode>>
  /** Changes of it are on their way to the warm tier. */
  readonly isPending: boolean
}

/** A run as the warm tier has it. */
export interface LiveRun extends Omit<RunSnapshot, 'isPending'> {
  /** What active nodes last said of themselves. */
  readonly progress: Readonly<Record<string, { readonly value: Json; readonly at: string }>>
  /** The last change that it knows, a decimal string. */
  readonly outboxId: string
}

/** The same for both tiers when they agree. Progress is no part of it: only one of them has it. */
export function liveRunHash({ run, activeNodes }: Pick<RunSnapshot, 'run' | 'activeNodes'>): string {
  return createHash('sha256').update(canonical({ run, activeNodes })).digest('hex')
}

/** JSON with the keys of every object in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
