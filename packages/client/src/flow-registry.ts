import type { AnyFlow, StepQueuedFlow } from '@starflow/dsl'

/**
 * What a client knows of flows: their types by slug, plain or with step queues.
 *
 * @example
 * createStarflowClient<{ ordersV1: typeof orders }>(supabase)
 */
export type FlowRegistry<TFlows> = { readonly [TSlug in keyof TFlows]: AnyFlow | StepQueuedFlow }

/** The slugs of a registry; any slug where it names none. */
export type FlowSlug<TFlows> = Extract<keyof TFlows, string>

/** The flow of a slug. */
export type FlowOf<TFlows, TSlug> = TSlug extends keyof TFlows
  ? TFlows[TSlug] extends { readonly flow: infer TFlow extends AnyFlow }
    ? TFlow
    : TFlows[TSlug] extends AnyFlow
      ? TFlows[TSlug]
      : AnyFlow
  : AnyFlow
