import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClaimedTask, StarflowSql, type TaskReport } from '@starflow/core'
import type { Sql } from 'postgres'
import type { CompiledChain } from './chain-flow.ts'

export interface SqlWorkerOptions {
  readonly sql: Sql
  readonly flow: CompiledChain
  readonly batch: number
  /** The queue this worker begins with. It goes round them all, unless it has one of its own. */
  readonly firstRoute: number
  readonly isSticky?: boolean
  readonly handle: (task: ClaimedTask) => string
  /** Called when the database has accepted the reports. */
  readonly onSettled: (tasks: readonly ClaimedTask[]) => void
}

const EMPTY_PAUSE_MS = 3

/**
 * The least a worker can be: one connection that settles what it holds and claims the next batch, in one round trip, with
 * a handler that does nothing. It measures the SQL core and the driver, nothing else.
 */
export class SqlWorker {
  readonly workerId = randomUUID()
  readonly #options: SqlWorkerOptions
  #isStopping = false
  #loop: Promise<void> | undefined

  constructor(options: SqlWorkerOptions) {
    this.#options = options
  }

  async register(functionName: string): Promise<void> {
    const { sql, flow } = this.#options
    await new StarflowSql(sql).registerWorker({
      workerId: this.workerId,
      queueName: flow.routes[0]!.queueName,
      functionName,
    })
  }

  start(): void {
    this.#isStopping = false
    this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
    this.#loop = undefined
  }

  async #run(): Promise<void> {
    const { sql, flow, batch, firstRoute, isSticky, handle, onSettled } = this.#options
    const core = new StarflowSql(sql)
    let route = firstRoute
    let held: readonly ClaimedTask[] = []
    while (!this.#isStopping || held.length > 0) {
      const { stepSlug, queueName } = flow.routes[route % flow.routes.length]!
      if (isSticky !== true) route += 1
      const { claimed, refused } = await core.settleAndClaim({
        workerId: this.workerId,
        reports: held.map((task) => completedReport(task, handle(task))),
        queueName,
        flowSlug: flow.flowSlug,
        stepSlug,
        qty: this.#isStopping ? 0 : batch,
        onUnsupported: 'skip',
      })
      if (refused.length > 0) throw new Error(`${refused.length} reports were refused: ${refused[0]!.reason}`)
      onSettled(held)
      if (claimed.length === 0 && held.length === 0) await delay(EMPTY_PAUSE_MS)
      held = claimed
    }
  }
}

function completedReport({ runId, stepSlug, taskIndex, attempt }: ClaimedTask, output: string): TaskReport {
  return { runId, stepSlug, taskIndex, attempt, status: 'completed', output }
}
