export type { CompatibleFlow, ServedFlow } from './compatible-flow.ts'
export type {
  ContextRequirement,
  Env,
  HandlerContext,
  Logger,
  PlatformContext,
  RawMessage,
  ReservedContextKey,
  StepContext,
  StepTask,
  TransactionContext,
  WorkerConfig,
} from './context.ts'
export { exactJsonText, findStandIn, parseExactJson, roundedNumber, roundedNumberProblem } from './exact-json.ts'
export { externalStep } from './external-step.ts'
export { Flow, type FlowOptions } from './flow.ts'
export { isFlow, refuseForeignFlow, requireFlow } from './flow-brand.ts'
export { extractFlowShape, type FlowShape, type PatternShape, type StepShape } from './flow-shape.ts'
export type { FlowTypeError } from './flow-type-error.ts'
export type {
  AnyFlow,
  ExtractFlowContext,
  ExtractFlowEnv,
  ExtractFlowInput,
  ExtractFlowLeafSteps,
  ExtractFlowOutput,
  ExtractFlowSteps,
  FlowContext,
  HandledStepSlug,
  StepInput,
  StepOutput,
  StepSlug,
} from './flow-types.ts'
export { ForeignFlowError } from './foreign-flow-error.ts'
export type { InputPattern } from './input-pattern.ts'
export { inputProblem, invalidInput } from './input-problem.ts'
export { InvalidDependencyError } from './invalid-dependency-error.ts'
export { InvalidStepOptionError } from './invalid-step-option-error.ts'
export type { Json, Jsonified, JsonObject, JsonPrimitive, Returning, Storable } from './json.ts'
export { InvalidOutputError, toJsonText } from './json-text.ts'
export { isNonRetryableError, NonRetryableError } from './non-retryable-error.ts'
// A star, because TypeScript lets only such a re-export be augmented by the name of this package.
export * from './platform.ts'
export { defaultQueueName, MAX_QUEUE_NAME_LENGTH, resolveQueueName } from './queue-name.ts'
export { isRetryLater, MAX_RETRY_DELAY_SECONDS, RetryLater, retryDelaySeconds } from './retry-later.ts'
export type { RunnerContext, RunVariables, Session, SessionVariables, WorkerJob } from './runner-context.ts'
export { requireQueueSteps } from './runner-steps.ts'
export type { SessionContext, SessionReadOptions, SessionWriteOptions } from './session-step.ts'
export { brokenSlugRule, InvalidSlugError, isValidSlug, MAX_SLUG_LENGTH, type SlugRule } from './slug.ts'
export { type StandardIssue, type StandardResult, type StandardSchemaV1, unchecked } from './standard-schema.ts'
export type { HandledStep, StepDefinition, StepHandler, StepType, WaitStep } from './step-definition.ts'
export { StepIsWaitError } from './step-is-wait-error.ts'
export type { RuntimeOptions, SkipMode, StepRuntimeOptions } from './step-option.ts'
export {
  DuplicateQueueRouteError,
  DuplicateStepSlugError,
  EmptyStepQueuedFlowError,
  FlowQueueNameError,
  type QueueNameCandidates,
  StepQueueError,
  StepQueueNameError,
} from './step-queue-error.ts'
export {
  isStepQueuedFlow,
  type QueueMode,
  type Route,
  type StepQueuedFlow,
  withStepQueues,
} from './step-queued-flow.ts'
export { UnknownStepError } from './unknown-step-error.ts'
export { defineWorkers, type WorkerDefinition, type WorkerSettings } from './worker-settings.ts'
