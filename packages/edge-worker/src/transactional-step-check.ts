import { NonRetryableError } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { Sql } from 'postgres'
import type { LifecycleEvent } from './events.ts'
import { TRANSACTIONAL_MAP_LIMIT } from './numbers.ts'
import { type Subscription, subscribedSteps } from './subscription.ts'
import type { ResolvedWorkerConfig, WorkerConnection } from './worker-config.ts'

/**
 * Each attempt of a transactional step holds a connection while it runs. A worker of such a step alone therefore claims no
 * more tasks than it has connections for handlers: others would only wait, with their timeouts running.
 *
 * @returns the settings to run with, and what to log
 * @throws StarflowError SF414 where handlers have no connection
 */
export function checkTransactionalSteps(
  subscription: Subscription,
  settings: ResolvedWorkerConfig,
  connection: WorkerConnection,
): {
  readonly settings: ResolvedWorkerConfig
  readonly events: readonly Extract<LifecycleEvent, { event: 'step.transactional' }>[]
} {
  if (subscription.kind === 'queue') return { settings, events: [] }
  const { flow, stepSlug } = subscription
  const steps = subscribedSteps(subscription).filter(({ transactional }) => transactional)
  if (steps.length === 0) return { settings, events: [] }
  const connections = connection.sql === undefined ? settings.maxPgConnections - 1 : connection.sql.options.max
  if (connections < 1) {
    const listed = steps.map(({ slug }) => `"${slug}"`).join(', ')
    throw new StarflowError({
      code: 'SF414',
      message: `Transactional steps of flow "${flow.slug}" have no connection to run in: ${listed}.`,
      detail:
        'maxPgConnections is 1, and the worker keeps one for itself: claims and heartbeats must not wait for handlers.',
      hint: 'Set maxPgConnections to 2 or more: one for the worker, and one for each transactional task at a time.',
      fields: { flowSlug: flow.slug, steps: steps.map(({ slug }) => slug) },
    })
  }
  return {
    settings:
      stepSlug === null || settings.maxConcurrent <= connections
        ? settings
        : Object.freeze({ ...settings, maxConcurrent: connections }),
    events: steps.map(({ slug, stepType }) => ({
      level: 'info',
      event: 'step.transactional',
      transactionalStep: slug,
      connections,
      ...(stepType === 'map' ? { maxElements: TRANSACTIONAL_MAP_LIMIT } : {}),
    })),
  }
}

/** The elements of a map that is too large for transactions (SF415) fail, each with this: no further attempt can help. */
export function mapTooLargeError(stepSlug: string, elements: number): NonRetryableError {
  return new NonRetryableError(
    `SF415: Map step "${stepSlug}" is transactional and has ${elements} elements; the most is ${TRANSACTIONAL_MAP_LIMIT}. ` +
      'Leave `transactional` out and make the effect idempotent, or map over batches of elements.',
  )
}

/** Stands in for `ctx.sql` in a transactional step: what is written there would not be part of the transaction. */
export function sqlRefusedInTransaction(): Sql {
  const refuse = (): never => {
    throw new StarflowError({
      code: 'SF416',
      message: 'ctx.sql is not there in a transactional step.',
      detail: 'What is written through it would be kept when the transaction is rolled back.',
      hint: 'Use ctx.tx.',
    })
  }
  return new Proxy(refuse, { apply: refuse, get: refuse }) as unknown as Sql
}
