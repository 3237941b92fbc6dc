export { ERROR_CODES, type ErrorCode } from './codes.ts'
export { fromSqlError } from './from-sql-error.ts'
export { isStarflowError, StarflowError, type StarflowErrorParts } from './starflow-error.ts'
