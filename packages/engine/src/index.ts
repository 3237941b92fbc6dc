export { shapeHash } from './definition.ts'
export { type Clock, systemClock } from './engine/clock.ts'
export {
  DEFAULT_ENV,
  DEFAULT_WORKSPACE,
  Engine,
  type EngineOptions,
  type RunResult,
  type StartOptions,
} from './engine/engine.ts'
export type { EngineEvent } from './engine/events.ts'
export { type FlowPlan, type PlannedStep, planFlow } from './engine/flow-plan.ts'
export { contains } from './engine/json-containment.ts'
export type { LogLevel } from './engine/log-level.ts'
export { RESERVED_PREFIX, RESERVED_VARIABLES } from './engine/reserved-variables.ts'
export type { ExecutionEnd, ExecutionResult, PickTask } from './engine/run-execution.ts'
export { type ReadyTask, type RunOutcome, RunState, type StateEvent, type StepSnapshot } from './engine/run-state.ts'
export type { StepStatus } from './engine/step-progress.ts'
export { LagWatch, type LagWatchOptions } from './mirror/lag-watch.ts'
export { type ActiveNode, type LiveRun, liveRunHash, type MirroredRun, type RunSnapshot } from './mirror/live-run.ts'
export type { LagLevel, MirrorEvent } from './mirror/mirror-events.ts'
export type { MirrorChange, MirrorLag, MirrorSource, RefusedChange, SetAsideChange } from './mirror/mirror-source.ts'
export { MirrorSweep, type MirrorSweepOptions } from './mirror/mirror-sweep.ts'
export {
  type MirrorableAdapter,
  type MirroringOptions,
  type MirroringWorkflowStateAdapter,
  openMirroring,
} from './mirror/mirroring-state-adapter.ts'
export { OutboxDrainer, type OutboxDrainerOptions } from './mirror/outbox-drainer.ts'
export { AUTHORITY, type Authority, type Operation, type Tier } from './mirror/reads.ts'
export type { Correction, WarmTier } from './mirror/warm-tier.ts'
export { type NodeRef, nodeId, parseNodeId } from './node-id.ts'
export * from './numbers.ts'
export * from './run-record.ts'
export { parseRunSearch, type RunSearch } from './run-search.ts'
export { LeaseSweep, type LeaseSweepOptions } from './runner/lease-sweep.ts'
export { Runner, type RunnerFlows, type RunnerOptions } from './runner/runner.ts'
export type { RunnerEvent } from './runner/runner-events.ts'
export type { Service } from './runner/service.ts'
export * from './state-adapter.ts'
export {
  chooseSubstrate,
  DEFAULT_SQLITE_PATH,
  requireSubstrate,
  SUBSTRATE_VARIABLES,
  type Substrate,
} from './substrate.ts'
export type { WaitHost, WaitWake } from './wait/enter-durable-wait.ts'
export {
  MIN_WAIT_TOKEN_SECRET_LENGTH,
  signWaitToken,
  verifyWaitToken,
  type WaitTokenClaims,
  type WaitTokenKey,
} from './wait/wait-token.ts'
