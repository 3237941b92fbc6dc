import {
  type FencedFunction,
  fence,
  findFunctions,
  readCoverage,
  readQueues,
  readWorkers,
  restore,
} from '@starflow/core/operations'
import type { Sql } from 'postgres'
import type { CompiledFlow, QueueOperations } from '../runs/queue-operations.ts'

/** Step queues over a direct connection, by the functions and views of the SQL core. */
export class SqlQueueOperations implements QueueOperations {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  queues() {
    return readQueues(this.#sql)
  }

  coverage(flowSlug: string | undefined) {
    return readCoverage(this.#sql, flowSlug)
  }

  workers(options: { readonly all: boolean; readonly limit: number }) {
    return readWorkers(this.#sql, options)
  }

  functions() {
    return findFunctions(this.#sql)
  }

  async fence(functionName: string, by: string): Promise<FencedFunction> {
    const [row] = await fence(this.#sql, [functionName], by)
    return row!
  }

  async restore(functionName: string): Promise<FencedFunction> {
    const [row] = await restore(this.#sql, [functionName])
    return row!
  }

  async compiledFlows(): Promise<readonly CompiledFlow[]> {
    return await this.#sql<CompiledFlow[]>`
      select f.flow_slug as flow, f.queue_mode as "queueMode", f.paused_at is not null as "isPaused", f.compiled_at as "compiledAt",
             f.input_schema as "inputSchema",
             (select coalesce(jsonb_agg(jsonb_build_object(
                'step', s.step_slug, 'type', s.step_type, 'queue', s.queue_name,
                'dependsOn', array(select d.dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug
                                   order by d.dep_slug))
                order by s.step_index), '[]') from pgflow.steps s where s.flow_slug = f.flow_slug) as steps
      from pgflow.flows f order by f.flow_slug`
  }
}
