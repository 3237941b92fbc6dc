import type { LifecycleState } from './lifecycle.ts'
import type { WorkIdentity, WorkSubject } from './work-identity.ts'

/**
 * Everything a worker has to say. Each event is a line of the log; its fields are identifiers, counts and durations,
 * never inputs, outputs, message bodies or secrets. Nothing is said when nothing happened.
 */
export type WorkerEvent = WorkerIdentity &
  (
    | FunctionEvent
    | LifecycleEvent
    | CompileEvent
    | TaskEvent
    | DatabaseEvent
    | UnsupportedEvent
    /** What a handler said through `ctx.logger`. */
    | ({ level: LogLevel; event: 'handler.log'; message: string; details?: readonly unknown[] } & WorkIdentity)
  )

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Which worker speaks; what is not known yet is left out. */
export interface WorkerIdentity {
  readonly functionName?: string
  readonly workerId?: string
  readonly queueName?: string
  readonly flowSlug?: string | null
  readonly stepSlug?: string | null
}

export type FunctionEvent =
  /** The configuration or environment of this function keeps its workers from starting. */
  | { level: 'error'; event: 'function.unusable'; code: string; message: string; hint?: string }
  /** Something failed that no code waits for and that belongs to no known handler: it costs no attempt. */
  | {
      level: 'error'
      event: 'function.stray'
      code: 'SF819'
      errorName: string
      at: string
      message: string
      hint: string
    }
  /** Requests were answered with 401, so many since the last such line; at most one line a minute. */
  | { level: 'warn'; event: 'request.unauthorised'; code: string; message: string; hint: string; requests: number }
  /** A start failed; the next authorised request tries again. */
  | { level: 'error'; event: 'worker.start_failed'; code: string; message: string; detail?: string; hint?: string }
  /** The failure could not be written to the database either. */
  | { level: 'warn'; event: 'worker.start_failure_unreported'; reason: string }

export type LifecycleEvent =
  | {
      level: 'info'
      event: 'worker.started'
      platform: string
      maxConcurrent: number
      maxPgConnections: number
      /** Whether statements are prepared: not through a transaction pooler. */
      preparedStatements: boolean
      /** Workers that the database knows, times this one's connections, times 2 for the moments when old and new overlap. */
      connectionsNeeded: number
      /** How many connections the database takes in all. */
      maxConnections: number
      /** The isolate or process: `SB_EXECUTION_ID` where the host says one. */
      executionId: string
    }
  /** The database may run out of connections when all workers are busy and being replaced. */
  | { level: 'warn'; event: 'connections.short'; connectionsNeeded: number; maxConnections: number; hint: string }
  | { level: 'debug'; event: 'worker.transition'; from: LifecycleState; to: LifecycleState }
  /** Claims nothing more. `reason` is `wall_clock`, `deprecated`, `fenced`, `unknown`, `halted` or `refused`. */
  | { level: 'info'; event: 'worker.deprecated'; reason: string; startedTasks: number }
  /** Told to stop: by the host (`wall_clock`, `cpu`, `memory`, `termination`, …), by `EdgeWorker.stop()`, or drained. */
  | { level: 'info'; event: 'worker.stopping'; reason: string; startedTasks: number }
  | {
      level: 'info'
      event: 'worker.stopped'
      reason: string
      completedTasks: number
      failedTasks: number
      releasedTasks: number
      /** Reports that the database never accepted, and handlers that did not end in time: recovery has them. */
      leftTasks: number
      databaseCalls: number
      lifeMs: number
    }
  | { level: 'info'; event: 'worker.fenced' }
  | {
      level: 'warn'
      event: 'worker.step_timeout_long'
      timedStep: string
      timeoutSeconds: number
      wallClockSeconds: number
    }

  /** A step runs in transactions, each on a connection of its own: no more tasks at a time than there are of them. */
  | {
      level: 'info'
      event: 'step.transactional'
      transactionalStep: string
      connections: number
      /** Of a map: how many elements it may have. */
      maxElements?: number
    }

export type CompileEvent =
  | { level: 'info'; event: 'flow.compiled'; status: 'compiled' | 'recompiled'; differences: readonly string[] }
  | { level: 'info'; event: 'flow.draining'; waitedMs: number }
  /** A retry, delay or timeout option was applied, or drifts between two versions of the code. */
  | { level: 'info'; event: 'flow.option'; message: string }

/** An attempt at a task of a flow, or at a message of a queue without one. */
export type TaskEvent = WorkIdentity &
  (
    | { level: 'debug'; event: 'task.completed'; durationMs: number }
    | {
        level: 'warn'
        event: 'task.failed'
        errorName: string
        durationMs: number
        permanent: boolean
        /** The handler's own text stands in the database; the log has it at level `debug` only. */
        errorMessage?: string
      }
    /** The handler did not end after its timeout; its slot is used again, whatever it still does is ignored. */
    | { level: 'warn'; event: 'task.abandoned'; durationMs: number }
    | { level: 'info'; event: 'task.released'; started: boolean }
    /**
     * Something that the handler has started failed, and no code waits for it. The attempt fails with it (`failsAttempt`), unless it
     * had ended before. `at`: the place in the code.
     */
    | {
        level: 'error'
        event: 'handler.stray'
        code: 'SF819'
        errorName: string
        at: string
        failsAttempt: boolean
        hint: string
      }
    /** Its run or step has ended, or another worker has it: its `ctx.signal` is aborted, and what it still returns is dropped. */
    | { level: 'info'; event: 'task.lost'; reason: string }
    /** Another worker has the message now: its visibility could not be extended in time. Its `ctx.signal` is aborted. */
    | { level: 'warn'; event: 'message.lost' }
  )

export type DatabaseEvent =
  | { level: 'warn'; event: 'database.failing'; during: string; reason: string; retryInMs: number; failures: number }
  | { level: 'info'; event: 'database.recovered'; failures: number }
  /** Another transaction holds runs: so many reports of theirs wait until they are free, while all else goes on. */
  | { level: 'info'; event: 'report.held_up'; reports: number }
  | { level: 'warn'; event: 'heartbeat.failed'; reason: string }
  /** A call was not answered within its limit: its connection was given up, and the next call gets a fresh one. */
  | { level: 'warn'; event: 'database.timeout'; reason: string }
  /** How many tasks have ended, and their CPU, could not be told: said once until it can be again. The next report has it. */
  | { level: 'warn'; event: 'usage.unreported'; reason: string }
  /** The visibility of so many messages could not be extended; the next timer tries again. */
  | { level: 'warn'; event: 'visibility.failed'; reason: string; messages: number }
  /** The database has a newer claim or an end for this task; `repeated` when our first report may have arrived. */
  | ({ level: 'warn'; event: 'report.refused'; reason: string; repeated: boolean } & WorkSubject)
  /** The database cannot store this report; it is replaced by a failure, or left to recovery. */
  | ({ level: 'error'; event: 'report.unstorable'; reason: string; replaced: boolean } & WorkSubject)

export type UnsupportedEvent =
  | {
      level: 'warn'
      event: 'message.unsupported'
      messageId: string
      /** What the task row of the message says, where there is one. */
      messageFlowSlug: string | null
      messageStepSlug: string | null
      readCount: number
    }
  | { level: 'error'; event: 'worker.halted'; messageIds: readonly string[] }

/** Takes what a worker says. Must not throw. */
export type WorkerLogger = (event: WorkerEvent) => void

/** The body of an event, before the worker's identity is added. */
export type WorkerEventBody = WorkerEvent extends infer TEvent ? DistributiveOmit<TEvent, never> : never
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
