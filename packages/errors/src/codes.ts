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
  SF204: 'CronMissingError',
  SF205: 'JobNameTakenError',
  // SF3xx claim and settle
  SF301: 'ClaimVisibilityError',
  SF302: 'SubscriptionError',
  SF303: 'InvalidReportError',
  SF304: 'InvalidOutputError',
  // SF4xx worker
  SF401: 'UnknownPlatformError',
  SF402: 'DuplicateWorkerError',
  SF403: 'DatabaseNotMigratedError',
  SF404: 'StepTimeoutTooLongError',
  SF405: 'FlowDrainingError',
  SF406: 'NoConnectionForHandlersError',
  SF407: 'StepTimeoutError',
  SF408: 'WorkerShutdownError',
  SF409: 'SupabaseClientError',
  // SF6xx CLI and demo
  SF601: 'UnreadableFolderError',
  SF602: 'NoDocumentsError',
  SF603: 'NoSearchIndexError',
  SF604: 'NoProgressError',
  SF605: 'ForeignDatabaseError',
  SF610: 'UsageError',
  SF611: 'FlowModuleError',
  SF612: 'NoFlowsFoundError',
  SF613: 'FunctionFolderTakenError',
  SF614: 'DuplicateFunctionNameError',
  SF615: 'GeneratedFunctionsOutdatedError',
  SF616: 'RemovalNotConfirmedError',
  SF617: 'DenoEvaluationError',
  SF618: 'InvalidProjectConfigError',
  SF619: 'NoGeneratedFunctionsError',
  SF621: 'BaselineChangedError',
  // SF5xx local platform
  SF501: 'PortInUseError',
  SF502: 'DataFolderVersionError',
  SF503: 'PostgresStartError',
  SF504: 'UnsupportedPlatformError',
  SF505: 'BinariesMissingError',
  SF506: 'DataFolderForeignError',
  SF507: 'DataFolderInUseError',
  SF511: 'FunctionBootError',
  SF512: 'DenoMissingError',
  SF521: 'MigrationHistoryError',
  SF522: 'MigrationFailedError',
  // SF7xx settings
  SF701: 'InvalidSettingError',
} as const

export type ErrorCode = keyof typeof ERROR_CODES
