import type { IconName } from '../design/Icon.tsx'

interface Destination {
  readonly to: '/' | '/runs' | '/waits' | '/flows' | '/queues' | '/workers' | '/runners'
  readonly title: string
  readonly icon: IconName
  /** What serves all workspaces is shown to the operator only. */
  readonly isForOperator?: true
}

/** The pages of the navigation, in its order: what happens first, then what makes it happen. */
export const DESTINATIONS: readonly Destination[] = [
  { to: '/', title: 'Overview', icon: 'overview' },
  { to: '/runs', title: 'Runs', icon: 'runs' },
  { to: '/waits', title: 'Waits', icon: 'waits' },
  { to: '/flows', title: 'Flows', icon: 'flows' },
  { to: '/queues', title: 'Queues', icon: 'queues', isForOperator: true },
  { to: '/workers', title: 'Workers', icon: 'workers', isForOperator: true },
  { to: '/runners', title: 'Runners', icon: 'runners', isForOperator: true },
]
