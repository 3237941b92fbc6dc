import { ENDED_STATUSES, type RunStatus } from '@starflow/engine'
import type { StepView } from '@starflow/server/runs'
import type { StepProgress, StepState } from './run-progress.ts'

const STATES: Readonly<Record<StepView['status'], StepState>> = {
  ...{ created: 'to come', started: 'running', waiting: 'waiting', completed: 'done' },
  ...{ skipped: 'skipped', failed: 'failed' },
}

/** How far a step is, in the words of the command line. What is open in a run that has ended has stopped. */
export function stepProgress(view: StepView, runStatus: RunStatus): StepProgress {
  const isOpen = view.status === 'started' || view.status === 'waiting'
  return {
    slug: view.step,
    isMap: view.type === 'map',
    state: isOpen && ENDED_STATUSES.includes(runStatus) ? 'stopped' : STATES[view.status],
    done: view.tasks?.completed ?? 0,
    total: view.tasks?.total,
    startedAt: millisecond(view.startedAt),
    endedAt: millisecond(view.endedAt),
    reason: view.error ?? view.skipReason?.replaceAll('_', ' '),
  }
}

function millisecond(instant: string | null): number | undefined {
  return instant === null ? undefined : Date.parse(instant)
}
