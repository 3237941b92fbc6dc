export type { ClaimedTask } from './claimed-task.ts'
export { type CompileResult, StarflowSql, type UnsupportedMessage, type Work } from './starflow-sql.ts'
export type { RefusedReport, SettledReport, TaskIdentity, TaskReport } from './task-report.ts'
export type { WorkerState } from './worker-state.ts'
