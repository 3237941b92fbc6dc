import type { Json } from './json.ts'
import type { PlatformSql, PlatformSupabase, PlatformTransaction } from './platform.ts'
import type { RunnerContext } from './runner-context.ts'

/** Environment variables as a platform has them. */
export type Env = Record<string, string | undefined>

/** The task that an attempt works on. The names are those of the SQL interface. */
export interface StepTask {
  readonly flow_slug: string
  readonly run_id: string
  readonly step_slug: string
  /** Zero-based; which element of a map. */
  readonly task_index: number
  /** An exact decimal string. */
  readonly msg_id: string
  /** 1 for the first attempt. */
  readonly attempt: number
}

/** The queue message behind a task. What a combined read and claim does not return is undefined. */
export interface RawMessage {
  /** An exact decimal string. */
  readonly msg_id: string
  readonly message: Json
  /** Null for a message that was sent without. */
  readonly headers?: Json | undefined
  readonly read_ct?: number | undefined
  readonly enqueued_at?: string | undefined
  readonly vt?: string | undefined
}

/** The settings that the worker runs with; frozen through and through. */
export interface WorkerConfig {
  readonly maxConcurrent: number
  readonly batchSize: number
  readonly maxPgConnections: number
  /** Seconds. */
  readonly visibilityTimeout: number
  readonly pollIntervalMs: number
  readonly maxPollIntervalMs: number
}

export interface Logger {
  debug(message: string, ...details: readonly unknown[]): void
  info(message: string, ...details: readonly unknown[]): void
  warn(message: string, ...details: readonly unknown[]): void
  error(message: string, ...details: readonly unknown[]): void
}

/** What every handler gets beside its input, whatever its flow. */
export interface PlatformContext<TEnv = Env> {
  readonly env: TEnv
  readonly sql: PlatformSql
  readonly supabase: PlatformSupabase
  /** Aborted when the worker shuts down. */
  readonly shutdownSignal: AbortSignal
  /** Aborted at the step's timeout, and when the worker shuts down. Give it to `fetch`. */
  readonly signal: AbortSignal
  readonly rawMessage: RawMessage
  readonly workerConfig: WorkerConfig
  readonly logger: Logger
}

/** The second argument of a step's handler. */
export interface StepContext<TInput = Json, TEnv = Env> extends PlatformContext<TEnv> {
  readonly stepTask: StepTask
  /** The input of the run; fetched when it is first read. */
  readonly flowInput: Promise<TInput>
}

/** Names in the context that are those of durable state: a flow's own context can have them only as what they are. */
export type ReservedContextKey = keyof RunnerContext

/** What a flow may ask of its context: any object that uses the reserved names for nothing else. */
export type ContextRequirement = object & { readonly [K in ReservedContextKey]?: RunnerContext[K] }

/** The context a handler of a flow sees: the platform's, with what the flow asks for in place of it or beside it. */
export type HandlerContext<TInput, TContext, TEnv> = [keyof TContext] extends [never]
  ? StepContext<TInput, TEnv>
  : Omit<StepContext<TInput, TEnv>, keyof TContext> & TContext

/** What a transactional step has in place of `ctx.sql`. */
export interface TransactionContext {
  /**
   * The transaction that the step's end is reported in: what the handler writes through it is there exactly when the step
   * has completed, and exactly once. It is rolled back when the handler throws, or when the task is no longer its own.
   */
  readonly tx: PlatformTransaction
}

/** The context of a step's handler: in a transactional step `ctx.tx` takes the place of `ctx.sql`. */
export type ContextOfStep<TContext, TTransactional extends boolean> = [TTransactional] extends [true]
  ? Omit<TContext, 'sql'> & TransactionContext
  : TContext
