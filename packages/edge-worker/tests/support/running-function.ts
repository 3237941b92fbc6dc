import { StarflowSql } from '@starflow/core'
import type { AnyFlow, StepQueuedFlow } from '@starflow/dsl'
import type { WorkerEvent } from '../../src/events.ts'
import {
  type AnyQueueHandler,
  type QueueOptions,
  queueSubscriptionOf,
  type Subscription,
  subscriptionOf,
} from '../../src/subscription.ts'
import { type FlowQueueConfig, resolveWorkerConfig } from '../../src/worker-config.ts'
import { openConnections } from '../../src/worker-connections.ts'
import { WorkerFunction } from '../../src/worker-function.ts'
import { type TestPlatformOptions, testPlatform } from './test-platform.ts'

const SECRET = 'test secret'

/** A worker function on a real database, in this process. */
export interface RunningFunction {
  readonly events: WorkerEvent[]
  ask(): Promise<Record<string, unknown>>
  shutDown(reason: string): void
  /** Settles when its workers have stopped. */
  settled(): Promise<void>
  stop(): Promise<void>
  /** Settles with the first event of this name, past or to come. */
  event<TName extends WorkerEvent['event']>(name: TName): Promise<Extract<WorkerEvent, { event: TName }>>
}

interface FunctionOptions extends FlowQueueConfig {
  visibilityTimeout?: number | undefined
  functionName?: string
  platform?: TestPlatformOptions
  /** The limit of the worker's own calls. */
  callTimeoutMs?: number
}

/** Makes a worker function; its first {@link RunningFunction.ask} starts it. */
export function workerFunctionOn(
  databaseUrl: string,
  definition: AnyFlow | StepQueuedFlow<AnyFlow>,
  { stepSlug, ...options }: FunctionOptions & { stepSlug?: string } = {},
): RunningFunction {
  return functionOn(databaseUrl, [subscriptionOf(definition, stepSlug)], options)
}

/** The same for all steps of flows with step queues, as a grouped function hosts them. */
export function groupedFunctionOn(
  databaseUrl: string,
  definitions: readonly StepQueuedFlow<AnyFlow>[],
  options: FunctionOptions = {},
): RunningFunction {
  const subscriptions = definitions.flatMap((definition) =>
    definition.flow.stepOrder.map((stepSlug) => subscriptionOf(definition, stepSlug)),
  )
  return functionOn(databaseUrl, subscriptions, options)
}

/** The same for a queue without a flow. */
export function queueWorkerOn(
  databaseUrl: string,
  handler: AnyQueueHandler,
  { queueName, retry, timeout, ...options }: FunctionOptions & QueueOptions,
): RunningFunction {
  return functionOn(databaseUrl, [queueSubscriptionOf(handler, { queueName, retry, timeout })], options)
}

function functionOn(
  databaseUrl: string,
  subscriptions: readonly Subscription[],
  options: FunctionOptions,
): RunningFunction {
  const { functionName = `fn_${crypto.randomUUID()}`, platform: platformOptions, callTimeoutMs, ...config } = options
  const platform = testPlatform({
    ...platformOptions,
    env: { SUPABASE_DB_URL: databaseUrl, STARFLOW_AUTH_SECRET: SECRET, ...platformOptions?.env },
  })
  const events: WorkerEvent[] = []
  let changed: (() => void)[] = []
  const workerFunction = new WorkerFunction({
    platform,
    connect: (sql) => new StarflowSql(sql),
    open: (source, connections, name, limits) =>
      openConnections(source, connections, name, {
        ...limits,
        ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }),
      }),
    logger: (event) => {
      events.push(event)
      const waiting = changed
      changed = []
      for (const wake of waiting) wake()
    },
  })
  const { settings, connection } = resolveWorkerConfig(config, subscriptions[0]?.kind)
  for (const subscription of subscriptions) workerFunction.add(subscription, settings, connection)
  return {
    events,
    async ask() {
      const response = await platform.request(`/${functionName}`, { secret: SECRET })
      return { http: response.status, ...((await response.json()) as object) }
    },
    shutDown: (reason) => platform.shutDown(reason),
    settled: () => platform.settled(),
    stop: () => workerFunction.stop(),
    async event(name) {
      for (;;) {
        const found = events.find(({ event }) => event === name)
        if (found !== undefined) return found as never
        await new Promise<void>((resolve) => changed.push(resolve))
      }
    },
  }
}
