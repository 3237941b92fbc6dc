import { StarflowSql } from '@starflow/core'
import type { AnyFlow, CompatibleFlow, FlowTypeError, StepQueuedFlow, StepSlug } from '@starflow/dsl'
import { lineLogger, writeToConsole } from './log-line.ts'
import { detectPlatform } from './platforms/detect-platform.ts'
import { subscriptionOf } from './subscription.ts'
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

/** What `EdgeWorker.start` takes beside a definition: for a step-queued flow the step is required. */
export type StartArguments<TDefinition> =
  TDefinition extends StepQueuedFlow<infer TFlow>
    ? [configWithStepSlug: StepWorkerConfig<StepSlug<TFlow>>]
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
  start(flow: AnyFlow | StepQueuedFlow, config: WorkerConfig & { readonly stepSlug?: unknown } = {}): void {
    const subscription = subscriptionOf(flow, config?.stepSlug)
    const { settings, connection } = resolveWorkerConfig(config)
    hosted ??= workerFunction()
    hosted.add(subscription, settings, connection)
  },
  async stop(): Promise<void> {
    await hosted?.stop()
  },
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
