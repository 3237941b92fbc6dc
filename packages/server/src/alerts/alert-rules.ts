import { LAG_PAGE_MS } from '@starflow/engine'
import type { ALERT_RULES, AlertDeclarations } from './alert-declarations.ts'

export type AlertRule = (typeof ALERT_RULES)[number]

/** The rules that are on, with what they go by, as a store is given them. */
export interface ActiveRules {
  readonly failedRuns?: { readonly atLeast: number; readonly withinMs: number; readonly flows?: readonly string[] }
  readonly uncoveredQueues?: { readonly graceMs: number }
  readonly unservedRuns?: { readonly graceMs: number }
  readonly stalls?: { readonly atLeast: number; readonly withinMs: number }
  readonly outboxLag?: { readonly pageMs: number }
}

/** A rule is on unless it is declared as false. */
export function activeRules({ rules }: AlertDeclarations): ActiveRules {
  const { failedRuns, uncoveredQueues, unservedRuns, stalls, outboxLag } = rules
  return {
    ...(failedRuns && {
      failedRuns: {
        ...{ atLeast: failedRuns.atLeast, withinMs: failedRuns.withinMinutes * 60_000 },
        ...(failedRuns.flows === undefined ? {} : { flows: failedRuns.flows }),
      },
    }),
    ...(uncoveredQueues && { uncoveredQueues: { graceMs: uncoveredQueues.graceSeconds * 1000 } }),
    ...(unservedRuns && { unservedRuns: { graceMs: unservedRuns.graceSeconds * 1000 } }),
    ...(stalls && { stalls: { atLeast: stalls.atLeast, withinMs: stalls.withinMinutes * 60_000 } }),
    ...(outboxLag && { outboxLag: { pageMs: LAG_PAGE_MS } }),
  }
}
