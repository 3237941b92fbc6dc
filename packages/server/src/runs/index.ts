export { type RunPlaces, runDirectoryOn } from '../adapters/run-directory-on.ts'
export type { Scope } from '../workspace.ts'
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
} from './run-placement.ts'
export { readLeases, readRunners, readUnservedRuns, type UnservedView } from './runner-views.ts'
