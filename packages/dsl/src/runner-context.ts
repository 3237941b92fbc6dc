import type { Json } from './json.ts'

/**
 * What a run on a runner gives its handlers beside the rest of the context: durable state of its own. Workers of step queues do
 * not have it. A handler that asks for it says so, and then only a runner takes its flow:
 *
 * @example
 * flow.step({ slug: 'draft' }, async (brief, ctx: RunnerContext) => {
 *   await ctx.phase('drafting')
 *   await ctx.variables.set('author', brief.author)
 * })
 */
export interface RunnerContext {
  /** Values that steps share by name, across runs where they ask for it. */
  readonly session: Session
  /** Values of this run. They are part of its event log: a run that goes on elsewhere has them. */
  readonly variables: RunVariables
  /** Says what the run is at, for whoever watches it. Written when it differs from the last one. */
  phase(name: string): Promise<void>
  /** How far the step is, in any form. Live only: it is kept nowhere, and may be dropped. */
  progress(value: Json): Promise<void>
  /**
   * Hands work to an external worker, in any language, and waits for its result. The job is durable: a handler that begins anew, here
   * or with another runner, gets the job that it has handed out before, and its result when there is one.
   */
  workerJob(job: WorkerJob): Promise<Json>
}

/** Work for an external worker. */
export interface WorkerJob {
  /** What workers ask for. */
  readonly kind: string
  readonly payload: Json
  /** Tells the jobs of one run apart. Default: one job for each node, so a step that hands out several has to name them. */
  readonly idempotencyKey?: string | undefined
}

export interface SessionVariables {
  /** Null when there is none, or it has expired. */
  get(key: string): Promise<Json>
  /** Without `keepUntil` the variable is dropped when the run that wrote it last ends. */
  set(key: string, value: Json, options?: { readonly keepUntil?: Date | undefined }): Promise<void>
}

/** The run's own session, and others. */
export interface Session extends SessionVariables {
  /** A session by name, shared by all runs of the workspace and environment that use the name. */
  in(sessionId: string): SessionVariables
}

export interface RunVariables {
  /** Undefined when it was never set. */
  get(key: string): Json | undefined
  /** Keys that begin with `__celestial` are the engine's and are refused. */
  set(key: string, value: Json): Promise<void>
}
