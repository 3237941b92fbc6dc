import type { StarflowSql } from '@starflow/core'

/** The part of the SQL core that a worker calls; tests that assert no SQL behaviour stand in for it. */
export type WorkerSql = Pick<
  StarflowSql,
  | 'ensureFlowCompiled'
  | 'lookAround'
  | 'registerWorker'
  | 'heartbeat'
  | 'deprecateWorker'
  | 'markWorkerStopped'
  | 'settleAndClaim'
  | 'settleTasks'
  | 'heldRuns'
  | 'releaseTasks'
  | 'lostAttempts'
  | 'requeueStalledTasks'
  | 'flowInput'
  | 'stepSize'
  | 'traceparent'
  | 'reportUsage'
  | 'reportStartFailure'
  | 'findWorkerQueue'
  | 'settleAndReadMessages'
  | 'extendMessages'
>

type Argument<TName extends keyof WorkerSql, TIndex extends number> = Parameters<WorkerSql[TName]>[TIndex]
type Answer<TName extends keyof WorkerSql> = Awaited<ReturnType<WorkerSql[TName]>>

type ClaimAnswer = Answer<'settleAndClaim'>
export type ClaimedTask = ClaimAnswer['claimed'][number]
export type UnsupportedMessage = ClaimAnswer['unsupported'][number]
export type WorkerState = ClaimAnswer['worker']
export type ClaimedMessage = Answer<'settleAndReadMessages'>['claimed'][number]
export type MessageReport = Argument<'settleAndReadMessages', 0>['reports'][number]
export type TaskReport = Argument<'settleTasks', 1>[number]
export type TaskToRelease = Argument<'releaseTasks', 1>[number]
