import type { Env, Json, Logger, RunnerContext, SessionVariables, StepContext, WorkerJob } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { LogLevel } from './log-level.ts'

/** What a process that runs the engine gives to every handler. */
export interface EngineResources {
  /** `ctx.env`. Default: the process's own environment. */
  readonly env?: Env | undefined
  /**
   * Lends `ctx.sql` to one attempt, whose signal this is, and takes back what it has kept of it when it ends; without it, reading
   * `ctx.sql` is refused.
   */
  readonly lendSql?: ((signal: AbortSignal) => LentClient) | undefined
  /** `ctx.supabase`; without it, reading it is refused. */
  readonly supabase?: unknown
}

/** A database client that one attempt has. */
export interface LentClient {
  /** Opens nothing before it is read. */
  readonly sql: unknown
  giveBack(): void
}

/** The durable state of a run, as a handler reaches it. Every write settles when it is kept. */
export interface RunStateAccess {
  getVariable(key: string): Json | undefined
  setVariable(key: string, value: unknown): Promise<void>
  setPhase(name: string): Promise<void>
  reportProgress(value: unknown): Promise<void>
  doWorkerJob(job: WorkerJob): Promise<Json>
  getSession(sessionId: string | undefined, key: string): Promise<Json>
  setSession(sessionId: string | undefined, key: string, value: unknown, keepUntil: Date | undefined): Promise<void>
}

export interface StepContextParts {
  readonly task: {
    readonly runId: string
    readonly flowSlug: string
    readonly stepSlug: string
    readonly taskIndex: number
    readonly attempt: number
  }
  readonly signal: AbortSignal
  readonly shutdownSignal: AbortSignal
  readonly resources: Pick<EngineResources, 'env' | 'supabase'>
  /** `ctx.sql` of this attempt. */
  readonly lent: LentClient | undefined
  readonly flowInput: () => Json
  readonly state: RunStateAccess
  readonly log: (level: LogLevel, message: string, details: readonly unknown[]) => void
}

/**
 * The second argument of a handler in a run on a runner: what every placement has, and the durable state of the run. What
 * belongs to a queue is refused when it is read, since the types of all placements have it.
 */
export function stepContext(parts: StepContextParts): StepContext & RunnerContext {
  const { task, resources, lent, state } = parts
  let flowInput: Promise<Json> | undefined
  const context = {
    env: resources.env ?? process.env,
    shutdownSignal: parts.shutdownSignal,
    signal: parts.signal,
    get flowInput() {
      flowInput ??= Promise.resolve(structuredClone(parts.flowInput()))
      return flowInput
    },
    stepTask: Object.freeze({
      flow_slug: task.flowSlug,
      run_id: task.runId,
      step_slug: task.stepSlug,
      task_index: task.taskIndex,
      // There is no message.
      msg_id: '0',
      attempt: task.attempt,
    }),
    logger: logger(parts.log),
    session: Object.freeze({
      ...sessionVariables(state, undefined),
      in: (sessionId: string) => sessionVariables(state, sessionId),
    }),
    variables: Object.freeze({
      get: (key: string) => state.getVariable(key),
      set: (key: string, value: unknown) => state.setVariable(key, value),
    }),
    phase: (name: string) => state.setPhase(name),
    progress: (value: unknown) => state.reportProgress(value),
    workerJob: async (job: WorkerJob) => state.doWorkerJob(job),
  }
  if (lent === undefined) give(context, 'sql', undefined, 'this process gives its engine no database client')
  else Object.defineProperty(context, 'sql', { enumerable: true, get: () => lent.sql })
  give(context, 'supabase', resources.supabase, 'this process gives its engine no Supabase client')
  give(context, 'rawMessage', undefined, 'a run on a runner has no queue')
  give(context, 'workerConfig', undefined, 'a run on a runner has no worker')
  return context as unknown as StepContext & RunnerContext
}

/** What is missing is not enumerable: copying the context reads nothing that refuses. */
function give(context: object, name: string, value: unknown, reason: string): void {
  if (value !== undefined) {
    Object.defineProperty(context, name, { value, enumerable: true })
    return
  }
  Object.defineProperty(context, name, {
    enumerable: false,
    get() {
      throw contextUnavailable(name, reason)
    },
  })
}

export function contextUnavailable(name: string, reason: string): StarflowError {
  return new StarflowError({
    code: 'SF816',
    message: `ctx.${name} is not there: ${reason}.`,
    detail: 'A runner has what it was given; queues and their workers have a context of their own.',
    hint: 'See which part of the context each placement has, and give the engine what it can have.',
    fields: { name },
  })
}

function sessionVariables(state: RunStateAccess, sessionId: string | undefined): SessionVariables {
  return {
    get: (key) => state.getSession(sessionId, key),
    set: (key, value, options) => state.setSession(sessionId, key, value, options?.keepUntil),
  }
}

function logger(log: StepContextParts['log']): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, ...details: readonly unknown[]) =>
      log(level, String(message), details.map(loggable))
  return Object.freeze({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') })
}

/** JSON shows nothing of an Error. */
function loggable(detail: unknown): unknown {
  return detail instanceof Error ? { name: detail.name, message: detail.message, stack: detail.stack } : detail
}
