export { type RunPlaces, runDirectoryOn } from '../adapters/run-directory-on.ts'
export { MAX_START_DELAY_MS } from '../numbers.ts'
export { NAME_PATTERN, type Scope } from '../workspace.ts'
export { placementOfToken, type RunDirectory } from './run-directory.ts'
export {
  type OpenWait,
  PLACEMENTS,
  type Placement,
  type ResumedWait,
  type RunDetail,
  type RunEventView,
  type RunSummary,
  type StepView,
  TASK_STATUSES,
  type TaskState,
  type TaskView,
} from './run-placement.ts'
export { readLeases, readRunners, readUnservedRuns, type UnservedView } from './runner-views.ts'
