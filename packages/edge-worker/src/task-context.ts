import {
  type Json,
  type Logger,
  NonRetryableError,
  type PlatformContext,
  type RunnerContext,
  type StepContext,
} from '@starflow/dsl'
import type { SupabaseClient } from '@supabase/supabase-js'
import type { Sql, TransactionSql } from 'postgres'
import type { LogLevel, WorkerEventBody } from './events.ts'
import { attemptOf, type WorkIdentity } from './work-identity.ts'
import type { ResolvedWorkerConfig } from './worker-config.ts'
import type { ClaimedMessage, ClaimedTask } from './worker-sql.ts'

declare module '@starflow/dsl' {
  /** The real types of `ctx.sql`, `ctx.tx` and `ctx.supabase`, in every program that has a worker in it. */
  interface PlatformTypes {
    sql: Sql
    transaction: TransactionSql
    supabase: SupabaseClient
  }
}

/** What the contexts of a worker's tasks share. */
export interface ContextResources {
  readonly env: Readonly<Record<string, string>>
  readonly sql: () => Sql
  readonly supabase: () => SupabaseClient
  readonly shutdownSignal: AbortSignal
  readonly workerConfig: ResolvedWorkerConfig
  readonly emit: (event: WorkerEventBody) => void
}

/** The second argument of a step's handler. What costs something is made when it is first read. */
export function stepContext(
  task: ClaimedTask,
  signal: AbortSignal,
  resources: ContextResources & { readonly flowInput: () => Promise<Json> },
): StepContext {
  let flowInput: Promise<Json> | undefined
  const message = Object.freeze({
    flow_slug: task.flowSlug,
    run_id: task.runId,
    step_slug: task.stepSlug,
    task_index: task.taskIndex,
  })
  const context = {
    __proto__: ONLY_ON_RUNNERS,
    env: resources.env,
    get sql() {
      return resources.sql()
    },
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
    stepTask: Object.freeze({ ...message, msg_id: task.messageId, attempt: task.attempt }),
    rawMessage: Object.freeze({ msg_id: task.messageId, message }),
    workerConfig: resources.workerConfig,
    logger: workLogger(task, resources.emit),
  }
  return context
}

/**
 * What a flow for runners asks for. Types refuse such a flow where a worker is started with it by hand; one that is compiled without
 * them fails here with a sentence, at its first use. Below the context, so that copying it reads nothing that refuses.
 */
const ONLY_ON_RUNNERS: object = Object.defineProperties(
  {},
  Object.fromEntries(
    (['session', 'variables', 'phase', 'progress', 'workerJob'] as const).map((name) => [
      name,
      {
        get() {
          throw onlyOnRunners(name)
        },
      },
    ]),
  ),
)

function onlyOnRunners(name: keyof RunnerContext): NonRetryableError {
  const error = new NonRetryableError(
    `ctx.${name} is not there: this run is on step queues, and only runs on runners have it.`,
  )
  return Object.assign(error, { code: 'SF816' })
}

/** The second argument of a queue worker's handler. */
export function messageContext(
  message: ClaimedMessage,
  signal: AbortSignal,
  resources: ContextResources,
): PlatformContext<Readonly<Record<string, string>>> {
  return {
    env: resources.env,
    get sql() {
      return resources.sql()
    },
    get supabase() {
      return resources.supabase()
    },
    shutdownSignal: resources.shutdownSignal,
    signal,
    rawMessage: Object.freeze({
      msg_id: message.messageId,
      message: message.message,
      headers: message.headers,
      read_ct: message.attempt,
      enqueued_at: message.enqueuedAt,
    }),
    workerConfig: resources.workerConfig,
    logger: workLogger(message, resources.emit),
  }
}

/** `ctx.logger`: the handler's own words, with the identifiers of what it works on. */
function workLogger(work: WorkIdentity, emit: (event: WorkerEventBody) => void): Logger {
  const log =
    (level: LogLevel) =>
    (message: string, ...details: readonly unknown[]) =>
      emit({
        level,
        event: 'handler.log',
        ...attemptOf(work),
        message: String(message),
        ...(details.length === 0 ? {} : { details: details.map(loggable) }),
      })
  return Object.freeze({ debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') })
}

/** JSON shows nothing of an Error. */
function loggable(detail: unknown): unknown {
  return detail instanceof Error ? { name: detail.name, message: detail.message, stack: detail.stack } : detail
}
