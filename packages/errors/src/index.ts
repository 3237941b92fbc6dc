export { ERROR_CODES, type ErrorCode } from './codes.ts'
export { type DescribedError, describeError } from './describe-error.ts'
export { fromSqlError } from './from-sql-error.ts'
export { isStarflowError, StarflowError, type StarflowErrorParts } from './starflow-error.ts'
