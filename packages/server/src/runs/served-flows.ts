import type { AnyFlow } from '@starflow/dsl'
import type { Engine } from '@starflow/engine'
import { isStarflowError, type StarflowError } from '@starflow/errors'

/** The flows that runners with this code execute: by slug the definition that their runs are tied to. */
export interface ServedFlows {
  readonly flows: readonly AnyFlow[]
  readonly definitionIds: ReadonlyMap<string, string>
  /** Why the others cannot run as a whole. They may still run on step queues. */
  readonly refusals: ReadonlyMap<string, StarflowError>
}

/** Keeps the definition of each flow that the engine can execute. */
export async function serveFlows(flows: readonly AnyFlow[], engine: Pick<Engine, 'serve'>): Promise<ServedFlows> {
  const definitionIds = new Map<string, string>()
  const refusals = new Map<string, StarflowError>()
  for (const flow of flows) {
    try {
      definitionIds.set(flow.slug, (await engine.serve(flow)).definitionId)
    } catch (error) {
      if (!isRefusal(error)) throw error
      refusals.set(flow.slug, error)
    }
  }
  return { flows: flows.filter((flow) => definitionIds.has(flow.slug)), definitionIds, refusals }
}

/** Of the flow, not of the store. */
function isRefusal(error: unknown): error is StarflowError {
  return isStarflowError(error, 'SF817') || isStarflowError(error, 'SF206')
}
