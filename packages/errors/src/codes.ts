/**
 * Every error code of Starflow, with the name of the error. A code is also the SQLSTATE that the SQL core raises, and
 * the name of its page: docs/errors/<CODE>.md. Codes are never reused.
 */
export const ERROR_CODES = {
  // SF0xx configuration
  SF001: 'InvalidArgumentError',
  SF002: 'MissingEnvironmentError',
  // SF1xx definition
  SF101: 'FlowQueueNameError',
  SF102: 'StepQueueNameError',
  SF103: 'EmptyStepQueuedFlowError',
  SF104: 'DuplicateStepSlugError',
  SF105: 'DuplicateQueueRouteError',
  SF106: 'InvalidSlugError',
  SF107: 'UnknownStepError',
  SF108: 'FlowShapeMismatchError',
  SF109: 'FlowRoutingMismatchError',
  SF110: 'QueueCollisionError',
  SF111: 'QueueMissingError',
  SF112: 'InvalidDependencyError',
  SF113: 'InvalidStepOptionError',
  SF114: 'StepSlugRequiredError',
  SF115: 'StepSlugNotAllowedError',
  SF116: 'RouteMapError',
  SF117: 'FlowSlugTakenError',
  SF118: 'InvalidShapeError',
  // SF2xx runs
  SF201: 'FlowNotFoundError',
  SF202: 'RunIdConflictError',
  SF203: 'InvalidInputError',
  // SF3xx claim and settle
  SF301: 'ClaimVisibilityError',
  SF302: 'SubscriptionError',
  SF303: 'InvalidReportError',
  SF304: 'InvalidOutputError',
  // SF7xx settings
  SF701: 'InvalidSettingError',
} as const

export type ErrorCode = keyof typeof ERROR_CODES
