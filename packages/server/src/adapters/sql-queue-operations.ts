import type { Sql } from '@starflow/core'
import {
  type FencedFunction,
  fence,
  type HistoryRange,
  type ListedQueue,
  readCompiledFlows,
  readCoverage,
  readFlowSchedules,
  readFunctions,
  readQueueHistory,
  readQueues,
  readWorkers,
  restore,
  setFlowPaused,
} from '@starflow/core/operations'
import { QUEUES_KEPT_MS } from '../numbers.ts'
import type { QueueOperations } from '../runs/queue-operations.ts'
import { SharedAnswer } from '../shared-answer.ts'

/** Step queues over a direct connection, by the functions and views of the SQL core. */
export class SqlQueueOperations implements QueueOperations {
  readonly #sql: Sql
  readonly #queues: SharedAnswer<readonly ListedQueue[]>

  constructor(sql: Sql) {
    this.#sql = sql
    // It looks into every queue, and every page of a dashboard asks.
    this.#queues = new SharedAnswer(() => readQueues(sql), QUEUES_KEPT_MS)
  }

  queues() {
    return this.#queues.get()
  }

  queueHistory(queueName: string, range: HistoryRange) {
    return readQueueHistory(this.#sql, queueName, range)
  }

  coverage(flowSlug: string | undefined) {
    return readCoverage(this.#sql, flowSlug)
  }

  workers(options: { readonly all: boolean; readonly limit: number }) {
    return readWorkers(this.#sql, options)
  }

  functions() {
    return readFunctions(this.#sql)
  }

  async fence(functionName: string, by: string): Promise<FencedFunction> {
    const [row] = await fence(this.#sql, [functionName], by)
    return row!
  }

  async restore(functionName: string, force: boolean): Promise<FencedFunction> {
    const [row] = await restore(this.#sql, [functionName], { force })
    return row!
  }

  compiledFlows() {
    return readCompiledFlows(this.#sql)
  }

  schedules() {
    return readFlowSchedules(this.#sql)
  }

  setPaused(flowSlug: string, isPaused: boolean) {
    return setFlowPaused(this.#sql, flowSlug, isPaused)
  }
}
