import type { LogLevel } from './log-level.ts'
import type { ExecutionEnd } from './run-execution.ts'

/**
 * Everything the engine has to say of a run. Each event is a line of the log; its fields are identifiers, counts and
 * durations, never inputs, outputs or secrets. Nothing is said when nothing happened.
 */
export type EngineEvent = { readonly runId: string; readonly flowSlug: string } & (
  | { readonly level: 'info'; readonly event: 'run.started'; readonly resumed: boolean }
  | {
      readonly level: 'info' | 'warn'
      readonly event: 'run.ended'
      readonly end: ExecutionEnd
      readonly durationMs: number
    }
  /** It stopped without an end; its lease runs out, and it is found by the sweep. */
  | { readonly level: 'error'; readonly event: 'run.broken'; readonly errorName: string; readonly message: string }
  | {
      readonly level: 'debug'
      readonly event: 'node.completed'
      readonly nodeId: string
      readonly attempt: number
      readonly durationMs: number
    }
  | {
      readonly level: 'warn'
      readonly event: 'node.failed'
      readonly nodeId: string
      readonly attempt: number
      readonly errorName: string
      readonly isFinal: boolean
      readonly retryInMs?: number
    }
  | { readonly level: 'info'; readonly event: 'node.skipped'; readonly nodeId: string; readonly reason: string }
  /** A handler went on for longer than the grace after its timeout; whatever it still does is not looked at. */
  | { readonly level: 'warn'; readonly event: 'node.abandoned'; readonly nodeId: string; readonly attempt: number }
  | { readonly level: 'info'; readonly event: 'wait.opened'; readonly nodeId: string }
  /**
   * Something that a handler has started failed, and nobody waits for it. The attempt fails with it (`failsAttempt`), unless it had ended
   * before. `at`: the place in the code, since the message is the author's and may say anything.
   */
  | {
      readonly level: 'error'
      readonly event: 'handler.stray'
      readonly code: 'SF819'
      readonly nodeId: string
      readonly attempt: number
      readonly errorName: string
      readonly at: string
      readonly failsAttempt: boolean
      readonly hint: string
    }
  | {
      readonly level: 'warn'
      readonly event: 'write.retried'
      readonly method: string
      readonly attempt: number
      readonly errorName: string
    }
  /** What a handler said through `ctx.logger`. */
  | {
      readonly level: LogLevel
      readonly event: 'handler.log'
      readonly nodeId: string
      readonly attempt: number
      readonly message: string
      readonly details?: readonly unknown[]
    }
)

/** An event before the run's name is on it. */
export type EngineEventBody = EngineEvent extends infer TEvent
  ? TEvent extends unknown
    ? Omit<TEvent, 'runId' | 'flowSlug'>
    : never
  : never
