import { StarflowSql } from '@starflow/core'
import type { AnyFlow, FlowTypeError, Json, PlatformContext, Route, ServedFlow, StepQueuedFlow } from '@starflow/dsl'
import { lineLogger, writeToConsole } from './log-line.ts'
import { detectPlatform } from './platforms/detect-platform.ts'
import { type AnyQueueHandler, type QueueOptions, queueSubscriptionOf, subscriptionOf } from './subscription.ts'
import { type FlowQueueConfig, resolveWorkerConfig, type WorkerConfig } from './worker-config.ts'
import { readEnvironment } from './worker-environment.ts'
import { WorkerFunction } from './worker-function.ts'

/** Configuration of the one worker of a plain flow. */
export interface FlowWorkerConfig extends FlowQueueConfig {
  readonly stepSlug?: FlowTypeError<'This flow has one queue: leave stepSlug out, or start withStepQueues(flow)'>
}

/** Configuration of the worker of one step. */
export interface StepWorkerConfig<TStepSlug extends string> extends FlowQueueConfig {
  /** The step whose private queue this worker polls. */
  readonly stepSlug: TStepSlug
  /** Read when worker functions are generated; a worker itself is always one. Accepted, so that settings can be spread. */
  readonly instances?: number | undefined
}

/** Configuration of a worker on a queue without a flow. */
export interface QueueWorkerConfig extends WorkerConfig, QueueOptions {}

/** Handles one message of a queue; what it returns is ignored. It may throw `RetryLater` and `NonRetryableError`. */
export type QueueHandler<TMessage = Json> = {
  // A method, so that a handler may say which messages it knows: what a queue holds is known to those who send.
  handle(message: TMessage, context: PlatformContext): unknown
}['handle']

/**
 * What `EdgeWorker.start` takes beside a definition: for a step-queued flow the step is required, for a handler the queue. Of a
 * definition that may be one of several, a step is taken that all of them have.
 */
export type StartArguments<TDefinition> = [TDefinition] extends [{ readonly routes: unknown }]
  ? [configWithStepSlug: StepWorkerConfig<SharedStepSlug<TDefinition>>]
  : [TDefinition] extends [AnyFlow]
    ? [config?: FlowWorkerConfig]
    : [configWithQueueName: QueueWorkerConfig]

/** The slugs that each of some step-queued flows has. */
type SharedStepSlug<TDefinition> = (
  TDefinition extends { readonly routes: readonly Route<infer TSlug>[] }
    ? (slug: TSlug) => void
    : never
) extends (slug: infer TSlug extends string) => void
  ? TSlug
  : never

/**
 * Requires that a worker gives a flow everything in the context that the flow needs. For a type parameter, where the flow is not
 * known yet, this is assumed: the caller's concrete flow is checked.
 */
export type Startable<TDefinition> = TDefinition extends { readonly routes: unknown }
  ? { readonly flow: ServedFlow }
  : TDefinition extends (...args: never) => unknown
    ? unknown
    : ServedFlow

/** Starts and stops the workers of this function. */
export interface EdgeWorkerApi {
  /**
   * Serves a worker: of a plain flow for all its steps, of a step-queued flow for the one that `stepSlug` names, of a handler for
   * the queue that `queueName` names. The first authorised request starts it; from then on it claims and runs tasks until the
   * host ends this instance. Called for several queues, one function hosts a worker for each.
   *
   * Messages that a queue's handler completes are archived; a failed one is tried again by the rules of `retry`, and goes to
   * `pgflow.dead_letters` with its last error when they are used up.
   *
   * One signature for all, since TypeScript says of overloads that none matches, and not what is wrong.
   *
   * @throws StarflowError SF001 for a configuration, SF114 without a stepSlug where one is needed, SF115 with one where
   * none is, SF107 for an unknown one, SF122 for a flow of another library, SF402 for a second worker on one queue, SF404 for a step timeout longer than this
   * instance lives, SF401 outside of Deno. At the start: SF410 where there is no such queue, SF411 for the queue of a flow
   *
   * @example
   * EdgeWorker.start(flow, { maxConcurrent: 10 })
   * EdgeWorker.start(communityThreads, { stepSlug: 'classify', maxConcurrent: 4 })
   * EdgeWorker.start(async (mail: Mail, ctx) => { … }, { queueName: 'mails', retry: { limit: 5, baseDelay: 10 } })
   *
   * @typeParam TMessage what a queue's handler gets, where it does not say so itself
   */
  start<
    TMessage = unknown,
    TDefinition extends AnyFlow | StepQueuedFlow | QueueHandler<TMessage> = QueueHandler<TMessage>,
  >(definition: TDefinition & Startable<TDefinition>, ...config: StartArguments<TDefinition>): void
  /** Ends all workers of this function: started handlers get 5 s, everything else is given back. Twice is fine. */
  stop(): Promise<void>
}

let hosted: WorkerFunction | undefined

/**
 * The worker of an edge function.
 *
 * @example
 * import { EdgeWorker } from '@starflow/edge-worker'
 * EdgeWorker.start(communityThreads, { stepSlug: 'deliverSlack', maxConcurrent: 1 })
 */
export const EdgeWorker: EdgeWorkerApi = {
  start(definition: AnyFlow | StepQueuedFlow | QueueHandler<never>, config: AnyConfig = {}): void {
    const { subscription, settings } =
      typeof definition === 'function'
        ? queueWorker(definition as AnyQueueHandler, config)
        : flowWorker(definition, config)
    hosted ??= workerFunction()
    hosted.add(subscription, settings.settings, settings.connection)
  },
  async stop(): Promise<void> {
    await hosted?.stop()
  },
}

type AnyConfig = FlowQueueConfig & { readonly [K in 'stepSlug' | 'instances' | keyof QueueOptions]?: unknown }

function flowWorker(flow: AnyFlow | StepQueuedFlow, config: AnyConfig) {
  const subscription = subscriptionOf(flow, config?.stepSlug)
  return { subscription, settings: resolveWorkerConfig(config, subscription.kind) }
}

function queueWorker(handler: AnyQueueHandler, config: AnyConfig) {
  return { subscription: queueSubscriptionOf(handler, config ?? {}), settings: resolveWorkerConfig(config, 'queue') }
}

function workerFunction(): WorkerFunction {
  const platform = detectPlatform()
  const { logFormat, logLevel } = readEnvironment(platform.env)
  return new WorkerFunction({
    platform,
    connect: (sql) => new StarflowSql(sql),
    logger: lineLogger({ format: logFormat, level: logLevel, write: writeToConsole }),
  })
}
