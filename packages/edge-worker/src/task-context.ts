import type { Json, Logger, StepContext } from '@starflow/dsl'
import type { SupabaseClient } from '@supabase/supabase-js'
import type { Sql } from 'postgres'
import type { LogLevel, WorkerEventBody } from './events.ts'
import { attemptOf } from './task-outcome.ts'
import type { ResolvedWorkerConfig } from './worker-config.ts'
import type { ClaimedTask } from './worker-sql.ts'

declare module '@starflow/dsl' {
  /** The real types of `ctx.sql` and `ctx.supabase`, in every program that has a worker in it. */
  interface PlatformTypes {
    sql: Sql
    supabase: SupabaseClient
  }
}

/** What the contexts of a worker's tasks share. */
export interface ContextResources {
  readonly env: Readonly<Record<string, string>>
  readonly sql: Sql
  readonly supabase: () => SupabaseClient
  readonly shutdownSignal: AbortSignal
  readonly workerConfig: ResolvedWorkerConfig
  readonly flowInput: () => Promise<Json>
  readonly emit: (event: WorkerEventBody) => void
}

/** The second argument of a handler. What costs something is made when it is first read. */
export function taskContext(task: ClaimedTask, signal: AbortSignal, resources: ContextResources): StepContext {
  let flowInput: Promise<Json> | undefined
  return {
    env: resources.env,
    sql: resources.sql,
    get supabase() {
      return resources.supabase()
    },
    shutdownSignal: resources.shutdownSignal,
    signal,
    get flowInput() {
      if (flowInput === undefined) {
        flowInput = resources.flowInput()
        // Whoever awaits it sees the failure; one that is read and dropped must not end the process.
        flowInput.catch(() => {})
      }
      return flowInput
    },
    stepTask: Object.freeze({
      flow_slug: task.flowSlug,
      run_id: task.runId,
      step_slug: task.stepSlug,
      task_index: task.taskIndex,
      msg_id: task.messageId,
      attempt: task.attempt,
    }),
    rawMessage: Object.freeze({
      msg_id: task.messageId,
      message: Object.freeze({
        flow_slug: task.flowSlug,
        run_id: task.runId,
        step_slug: task.stepSlug,
        task_index: task.taskIndex,
      }),
    }),
    workerConfig: resources.workerConfig,
    logger: taskLogger(task, resources.emit),
  }
}

/** `ctx.logger`: the handler's own words, with the task's identifiers. */
function taskLogger(task: ClaimedTask, emit: (event: WorkerEventBody) => void): Logger {
  const log =
    (level: LogLevel) =>
    (message: string, ...details: readonly unknown[]) =>
      emit({
        level,
        event: 'handler.log',
        ...attemptOf(task),
        message: String(message),
        ...(details.length === 0 ? {} : { details: details.map(loggable) }),
      })
  return Object.freeze({ debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') })
}

/** JSON shows nothing of an Error. */
function loggable(detail: unknown): unknown {
  return detail instanceof Error ? { name: detail.name, message: detail.message, stack: detail.stack } : detail
}
