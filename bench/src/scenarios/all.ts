import type { Scenario } from '../scenario.ts'
import { bulkStart } from './bulk-start.ts'
import { chain, clients, jobs } from './chain.ts'
import { events } from './events.ts'
import { idleQueues } from './idle-queues.ts'
import { map } from './map.ts'
import { roundTrips } from './round-trips.ts'
import { snapshot } from './snapshot.ts'
import { stalled } from './stalled.ts'
import { workers } from './workers.ts'

/** In the order of the tables. */
export const SCENARIOS: readonly Scenario[] = [
  chain,
  clients,
  jobs,
  bulkStart,
  map,
  workers,
  snapshot,
  events,
  stalled,
  idleQueues,
  roundTrips,
]
