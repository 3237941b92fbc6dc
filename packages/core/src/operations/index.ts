export { coverageProblem, type RouteCoverage, readCoverage, workerProblem } from './coverage.ts'
export { enable, type FencedFunction, fence, findFunctions, restore } from './fenced-function.ts'
export { type QueueDepth, readQueues } from './queue-depth.ts'
export { type ListedWorker, readWorkers } from './worker-list.ts'
