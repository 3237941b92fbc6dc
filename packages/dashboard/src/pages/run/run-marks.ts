import type { StatusName } from '../../design/status-look.ts'
import { formatDuration } from '../../format/duration.ts'
import type { StepMark } from '../../graph/StepGraph.tsx'
import { hasEnded, type RunDetail, type StepView } from './run-queries.ts'

/** What the picture of a run says of its steps. */
export function marksOf(run: RunDetail): ReadonlyMap<string, StepMark> {
  return new Map(run.steps.map((step) => [step.step, markOf(run, step)]))
}

/** A step that has begun and that nobody works on yet is queued; what the end of its run cut off is cancelled. */
export function shownStatus(run: Pick<RunDetail, 'status'>, { type, status, startedAt }: StepView): StatusName {
  if (hasEnded(run) && (status === 'started' || status === 'waiting')) return 'cancelled'
  return status === 'started' && startedAt === null && type !== 'wait' ? 'queued' : status
}

function markOf(run: RunDetail, step: StepView): StepMark {
  const { status, tasks, attempts, startedAt, endedAt } = step
  const took =
    startedAt === null || endedAt === null ? null : formatDuration(Date.parse(endedAt) - Date.parse(startedAt))
  const isTriedAgain = status === 'started' && attempts > 1 && tasks === null
  return {
    status: shownStatus(run, step),
    note: isTriedAgain ? `attempt ${attempts}` : status === 'skipped' ? null : took,
    progress: tasks && { total: tasks.total, completed: tasks.completed },
  }
}
