export {
  type CompiledFlow,
  type CompiledStep,
  type FlowSchedule,
  flowFamily,
  readCompiledFlows,
  readFlowSchedules,
  setFlowPaused,
} from './compiled-flow.ts'
export { coverageProblem, type RouteCoverage, readCoverage, workerProblem } from './coverage.ts'
export {
  endFenceHold,
  type FenceHold,
  holdFence,
  keepFenceHold,
  type LivingHold,
  livingHolds,
} from './fence-hold.ts'
export { enable, type FencedFunction, fence, findFunctions, restore } from './fenced-function.ts'
export { type ListedFunction, readFunctions } from './function-list.ts'
export { type DatabaseOverview, readOverview } from './overview.ts'
export { type HistoryRange, type QueueSample, readQueueHistory } from './queue-history.ts'
export { type ListedQueue, QUEUE_TROUBLES, type QueueTrouble, queueTroubles, readQueues } from './queue-list.ts'
export { readVersionDrain, type VersionDrain } from './version-drain.ts'
export { type ListedWorker, readWorkers } from './worker-list.ts'
