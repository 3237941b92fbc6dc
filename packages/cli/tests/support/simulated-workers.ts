import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import type { Sql } from 'postgres'

/**
 * What ensure_workers and the worker functions do together, as far as operations see it: each enabled function of a queue
 * has a worker, which ends when it is told to and is replaced when it is gone.
 */
export class SimulatedWorkers {
  readonly #core: StarflowSql
  readonly #sql: Sql
  readonly #functions: ReadonlyMap<string, string>
  readonly #workers = new Map<string, string>()
  #loop: Promise<void> | undefined
  #isStopped = false

  /** `functions`: name of the function → queue. */
  constructor(sql: Sql, functions: Readonly<Record<string, string>>) {
    this.#sql = sql
    this.#core = new StarflowSql(sql)
    this.#functions = new Map(Object.entries(functions))
  }

  async start(): Promise<void> {
    await this.#tick()
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loop
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      await this.#tick()
    }
  }

  async #tick(): Promise<void> {
    const rows = await this.#sql<{ name: string }[]>`
      select function_name as name from pgflow.worker_functions where enabled`
    for (const { name } of rows) {
      const queueName = this.#functions.get(name)
      if (queueName === undefined || this.#workers.has(name)) continue
      const workerId = randomUUID()
      await this.#core.registerWorker({ workerId, queueName, functionName: name })
      this.#workers.set(name, workerId)
    }
    for (const [name, workerId] of this.#workers) {
      const state = await this.#core.heartbeat(workerId)
      if (state === 'running' || state === 'fenced') continue
      await this.#core.markWorkerStopped(workerId)
      this.#workers.delete(name)
    }
  }
}
