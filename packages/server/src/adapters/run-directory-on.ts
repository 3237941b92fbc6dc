import type { Sql } from '@starflow/core'
import type { QueueingStateAdapter, WaitTokenKey } from '@starflow/engine'
import { FlowCatalog } from '../runs/flow-catalog.ts'
import { RunDirectory } from '../runs/run-directory.ts'
import { RunnerPlacement } from '../runs/runner-placement.ts'
import type { ServedFlows } from '../runs/served-flows.ts'
import { QueuePlacement } from './queue-placement.ts'

/** Where the runs are. */
export interface RunPlaces {
  /** The store of the runs that runners execute. */
  readonly adapter: QueueingStateAdapter
  /** The database with the step queues; undefined where there are none. */
  readonly sql: Sql | undefined
  /** What verifies the tokens of waits of runners. */
  readonly waitTokenKeys?: readonly WaitTokenKey[]
}

const NO_FLOWS: ServedFlows = { flows: [], definitionIds: new Map(), refusals: new Map() }

/** The runs of both placements, for whoever shows and steers them and has no code of theirs: nothing can be started. */
export function runDirectoryOn({ adapter, sql, waitTokenKeys = [] }: RunPlaces): RunDirectory {
  const flows = new FlowCatalog([])
  const runner = new RunnerPlacement({ adapter, flows, served: NO_FLOWS, waitTokenKeys, now: Date.now })
  return new RunDirectory(sql === undefined ? [runner] : [new QueuePlacement(sql), runner], flows)
}
