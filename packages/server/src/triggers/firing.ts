import type { Json } from '@starflow/dsl'
import type { Placement } from '../runs/run-placement.ts'

/** Names one firing: a schedule fires once for an instant, a webhook once for a delivery. */
export interface FiringKey {
  /** Whose its run is. */
  readonly workspaceId: string
  readonly kind: 'schedule' | 'webhook'
  /** The trigger or webhook, as the file calls it. */
  readonly name: string
  /** The instant of a schedule as an ISO text, the id of a delivery. */
  readonly occurrence: string
}

/** The run that a firing starts: all of it, so that any process can start it, whatever its file says by then. */
export interface FiringStart {
  readonly flow: string
  readonly input: Json
  readonly env: string
  /** Decided: a repeated start goes where the first one went, where the idempotency key is known. */
  readonly placement: Placement
  readonly pool: string | null
}

/** - `recorded`: its run is to be started - `started` - `skipped`: the run before went on - `refused`: no such run can start */
export type FiringStatus = 'recorded' | 'started' | 'skipped' | 'refused'

export interface Firing extends FiringKey {
  readonly start: FiringStart
  readonly status: FiringStatus
  /** Of one that has started. */
  readonly runId: string | null
}

export type FiringOutcome =
  | { readonly status: 'started'; readonly runId: string }
  | { readonly status: 'refused'; readonly code: string }

/** The same for each start of a firing. */
export function idempotencyKeyOf({ kind, name, occurrence }: FiringKey): string {
  return `${kind}/${name}/${occurrence}`
}
