import type { RunEvent, RunReads } from '@starflow/engine'
import type { RunDirectory } from '@starflow/server/runs'

/** The events of runs of both placements as a store gives those of its own: their types, nodes and payloads are the same. */
export function readRunEvents(runs: RunDirectory): Pick<RunReads, 'readEvents'> {
  return {
    readEvents: async (runId, { afterId, limit = MOST_EVENTS } = {}) => {
      const events = await runs.events('every', runId, { after: afterId, limit })
      return events.map(({ id, type, node, payload, at }) => ({
        ...{ id, runId, nodeId: node, payload, createdAt: at },
        // What a placement tells is of these types; see starflow.queue_run_events.
        type: type as RunEvent['type'],
      }))
    },
  }
}

const MOST_EVENTS = 1000
