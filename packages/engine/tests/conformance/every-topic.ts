import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import type { AdapterFactory } from './adapter-factory.ts'
import { describeBoundaries } from './boundaries.ts'
import { describeDecisions } from './decisions.ts'
import { describeDefinitions } from './definitions.ts'
import { describeDelays } from './delays.ts'
import { describeEvents } from './events.ts'
import { describeFencing } from './fencing.ts'
import { describeIdempotencyKeys } from './idempotency-keys.ts'
import { describeJournal } from './journal.ts'
import { describeLeases } from './leases.ts'
import { describePools } from './pools.ts'
import { describeQueue } from './queue.ts'
import { describeReads } from './reads.ts'
import { describeRepetition } from './repetition.ts'
import { describeRunners } from './runners.ts'
import { describeSessions } from './sessions.ts'
import { describeWaits } from './waits.ts'

/** The whole conformance suite: call it at the top of the test file of an adapter that keeps runs. */
export function describeEveryTopic(factory: AdapterFactory<QueueingStateAdapter>): void {
  describeBoundaries(factory)
  describeJournal(factory)
  describeEvents(factory)
  describeFencing(factory)
  describeRepetition(factory)
  describeQueue(factory)
  describeIdempotencyKeys(factory)
  describePools(factory)
  describeDelays(factory)
  describeLeases(factory)
  describeWaits(factory)
  describeDecisions(factory)
  describeSessions(factory)
  describeDefinitions(factory)
  describeRunners(factory)
  describeReads(factory)
}
