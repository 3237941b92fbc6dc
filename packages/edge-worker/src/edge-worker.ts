import { StarflowSql } from '@starflow/core'
import type {
  AnyFlow,
  CompatibleFlow,
  FlowTypeError,
  HandledStepSlug,
  Json,
  PlatformContext,
  StepQueuedFlow,
} from '@starflow/dsl'
import { lineLogger, writeToConsole } from './log-line.ts'
import { detectPlatform } from './platforms/detect-platform.ts'
import { type AnyQueueHandler, type QueueOptions, queueSubscriptionOf, subscriptionOf } from './subscription.ts'
import { resolveWorkerConfig, type WorkerConfig } from './worker-config.ts'
import { readEnvironment } from './worker-environment.ts'
import { WorkerFunction } from './worker-function.ts'

/** Configuration of the one worker of a plain flow. */
export interface FlowWorkerConfig extends WorkerConfig {
  readonly stepSlug?: FlowTypeError<'This flow has one queue: leave stepSlug out, or start withStepQueues(flow)'>
}

/** Configuration of the worker of one step. */
export interface StepWorkerConfig<TStepSlug extends string> extends WorkerConfig {
  /** The step whose private queue this worker polls. */
  readonly stepSlug: TStepSlug
}

/** Configuration of a worker on a queue without a flow. */
export interface QueueWorkerConfig extends Omit<WorkerConfig, 'onUnsupportedMessage' | 'instances'>, QueueOptions {}

/** Handles one message of a queue; what it returns is ignored. It may throw `RetryLater` and `NonRetryableError`. */
export type QueueHandler<TMessage = Json> = (message: TMessage, context: PlatformContext) => unknown

/** What `EdgeWorker.start` takes beside a definition: for a step-queued flow the step is required. */
export type StartArguments<TDefinition> =
  TDefinition extends StepQueuedFlow<infer TFlow>
    ? [configWithStepSlug: StepWorkerConfig<HandledStepSlug<TFlow>>]
    : [config?: FlowWorkerConfig]

/** The definition, or a sentence about what its flow asks for and a worker does not give. */
export type Startable<TDefinition> =
  TDefinition extends StepQueuedFlow<infer TFlow>
    ? CompatibleFlow<TFlow> extends TFlow
      ? TDefinition
      : CompatibleFlow<TFlow>
    : TDefinition extends AnyFlow
      ? CompatibleFlow<TDefinition>
      : never

/** Starts and stops the workers of this function. */
export interface EdgeWorkerApi {
  /**
   * Serves a worker: of a plain flow for all its steps, of a step-queued flow for the one that `stepSlug` names. The
   * first authorised request starts it; from then on it claims and runs tasks until the host ends this instance. Called
   * for several queues, one function hosts a worker for each.
   *
   * @throws StarflowError SF001 for a configuration, SF114 without a stepSlug where one is needed, SF115 with one where
   * none is, SF107 for an unknown one, SF402 for a second worker on one queue, SF404 for a step timeout longer than this
   * instance lives, SF401 outside of Deno
   *
   * @example
   * EdgeWorker.start(flow, { maxConcurrent: 10 })
   * EdgeWorker.start(communityThreads, { stepSlug: 'classify', maxConcurrent: 4 })
   */
  start<TDefinition extends AnyFlow | StepQueuedFlow>(
    definition: TDefinition & Startable<TDefinition>,
    ...config: StartArguments<TDefinition>
  ): void
  /**
   * Serves a worker of a queue without a flow. Messages that `handler` completes are archived; a failed one is tried again
   * by the rules of `retry`, and goes to `pgflow.dead_letters` with its last error when they are used up.
   *
   * @throws StarflowError SF001 for a configuration, SF402 for a second worker on one queue. At the start: SF410 where there
   * is no such queue, SF411 for the queue of a flow
   *
   * @example
   * EdgeWorker.start(async (mail: Mail, ctx) => { … }, { queueName: 'mails', retry: { limit: 5, baseDelay: 10 } })
   */
  start<TMessage = Json>(handler: QueueHandler<TMessage>, config: QueueWorkerConfig): void
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

type AnyConfig = WorkerConfig & { readonly stepSlug?: unknown } & { readonly [K in keyof QueueOptions]?: unknown }

function flowWorker(flow: AnyFlow | StepQueuedFlow, config: AnyConfig) {
  return { subscription: subscriptionOf(flow, config?.stepSlug), settings: resolveWorkerConfig(config) }
}

function queueWorker(handler: AnyQueueHandler, config: AnyConfig) {
  const { queueName, retry, timeout, ...settings } = config
  return {
    subscription: queueSubscriptionOf(handler, { queueName, retry, timeout }),
    settings: resolveWorkerConfig(settings),
  }
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
