import { describeError } from '@starflow/errors'
import type { EngineEvent } from '../engine/events.ts'
import type { SweptRun } from '../state-adapter.ts'

/** Everything a runner has to say; what its runs have to say is among it. Identifiers, counts and durations only. */
export type RunnerEvent = { readonly runnerId: string } & (EngineEvent | RunnerOwnEvent)

export type RunnerOwnEvent =
  | { readonly level: 'info'; readonly event: 'runner.started'; readonly flows: number; readonly capacity: number }
  | { readonly level: 'info'; readonly event: 'runner.draining'; readonly runs: number }
  /** Runs that were not done in time are left to the sweep. */
  | { readonly level: 'info' | 'warn'; readonly event: 'runner.stopped'; readonly runsLeft: number }
  | {
      readonly level: 'info'
      readonly event: 'run.claimed'
      readonly runId: string
      readonly flowSlug: string
      readonly workspaceId: string
      readonly claimAttempts: number
    }
  /** It could not be taken up; its lease runs out. */
  | {
      readonly level: 'error'
      readonly event: 'run.not_opened'
      readonly runId: string
      readonly errorName: string
      readonly message: string
    }
  /** Claimed when this runner had begun to stop, and given back. */
  | { readonly level: 'info'; readonly event: 'run.given_back'; readonly runId: string }
  | { readonly level: 'warn'; readonly event: 'run.lost'; readonly runId: string; readonly claimAttempts: number }
  | {
      readonly level: 'info' | 'error'
      readonly event: 'run.swept'
      readonly runId: string
      readonly outcome: SweptRun['outcome']
    }
  | { readonly level: 'info'; readonly event: 'sessions.collected'; readonly variables: number }
  | {
      readonly level: 'warn'
      readonly event:
        | 'claim.failed'
        | 'heartbeat.failed'
        | 'sweep.failed'
        | 'sessions.failed'
        | 'wakes.failed'
        | 'farewell.failed'
      readonly errorName: string
      readonly message: string
    }

/** The part of an event that tells of a failure. */
export function failureParts(error: unknown): { readonly errorName: string; readonly message: string } {
  const { name, message } = describeError(error)
  return { errorName: name, message }
}
