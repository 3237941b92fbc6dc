import { FlowWork } from './flow-work.ts'
import { QueueWork } from './queue-work.ts'
import type { Subscription } from './subscription.ts'
import type { Work } from './work.ts'
import type { WorkResources } from './work-resources.ts'

/** The work that a subscription stands for. */
export function createWork(subscription: Subscription, resources: WorkResources): Work {
  return subscription.kind === 'queue' ? new QueueWork(subscription, resources) : new FlowWork(subscription, resources)
}
