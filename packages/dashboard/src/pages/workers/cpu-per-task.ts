import type { WorkerFunction } from '../../api/functions.ts'
import type { Worker } from '../../api/workers.ts'
import { countOf } from '../../format/count.ts'
import { formatFineDuration } from '../../format/duration.ts'

/** What a task takes of the CPU, or null, and a sentence on what that means, or why it is not known. */
export interface CpuPerTask {
  readonly figure: string | null
  readonly meaning: string
}

const NO_TASK_YET = 'No task has ended there yet.'

/** Of a worker: the CPU of its isolate or process, which several workers may share, by the tasks done in it. */
export function cpuOfWorker(
  worker: Pick<Worker, 'tasks' | 'workersInExecution' | 'cpuMs' | 'cpuMsPerTask'>,
): CpuPerTask {
  const { tasks, workersInExecution, cpuMs, cpuMsPerTask } = worker
  if (cpuMs === null) return none('Not measured: an edge function on hosted Supabase cannot measure itself.')
  if (tasks === null) return none('It does not tell how many tasks it has ended.')
  if (cpuMsPerTask === null) return none(NO_TASK_YET)
  return {
    figure: formatFineDuration(cpuMsPerTask),
    meaning: `${formatFineDuration(cpuMs)} of CPU by the tasks of ${
      workersInExecution > 1
        ? `all ${workersInExecution} workers in its isolate or process`
        : 'its life, polls included'
    }.`,
  }
}

/** Of a function: over its workers of the last hour, and those that go on since before, as far as they were measured. */
export function cpuOfFunction(of: Pick<WorkerFunction, 'startMode' | 'measuredWorkers' | 'cpuMsPerTask'>): CpuPerTask {
  const { startMode, measuredWorkers, cpuMsPerTask } = of
  if (cpuMsPerTask !== null) {
    return {
      figure: formatFineDuration(cpuMsPerTask),
      meaning: `Over ${countOf(measuredWorkers, 'measured worker')}: of the last hour, and those that go on.`,
    }
  }
  if (measuredWorkers > 0) return none(NO_TASK_YET)
  return none(
    startMode === 'process'
      ? 'Not measured yet: a process tells its CPU when its tasks end.'
      : 'Not measured: an edge function on hosted Supabase cannot measure itself.',
  )
}

function none(meaning: string): CpuPerTask {
  return { figure: null, meaning }
}
