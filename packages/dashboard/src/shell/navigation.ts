import type { IconName } from '../design/Icon.tsx'

interface Destination {
  readonly to: '/' | '/runs' | '/waits' | '/flows' | '/queues' | '/workers' | '/runners'
  readonly title: string
  readonly icon: IconName
}

/** The pages of the navigation, in its order: what happens first, then what makes it happen. */
export const DESTINATIONS: readonly Destination[] = [
  { to: '/', title: 'Overview', icon: 'overview' },
  { to: '/runs', title: 'Runs', icon: 'runs' },
  { to: '/waits', title: 'Waits', icon: 'waits' },
  { to: '/flows', title: 'Flows', icon: 'flows' },
  { to: '/queues', title: 'Queues', icon: 'queues' },
  { to: '/workers', title: 'Workers', icon: 'workers' },
  { to: '/runners', title: 'Runners', icon: 'runners' },
]
