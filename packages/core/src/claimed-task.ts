import type { Json } from '@starflow/dsl'
import type { TaskIdentity } from './task-report.ts'

/** A task that this worker holds until it settles or releases it, or until its recovery boundary has passed. */
export interface ClaimedTask extends TaskIdentity {
  readonly flowSlug: string
  /** Decimal digits: message ids outgrow a JavaScript number. */
  readonly messageId: string
  /** A map's element; `{}` for a root step; the outputs of the completed dependencies by slug for a dependent one. */
  readonly input: Json
  /** The run's input, for root steps that are not maps; null otherwise. */
  readonly flowInput: Json | null
  /** The step's effective timeout. */
  readonly timeoutSeconds: number
}
