import type { LivenessProblem, RunFigures, RunStatistics } from '../overview/run-statistics.ts'
import { type Scope, workspaceOf } from '../workspace.ts'
import { type SqlFunctions, scalar } from './sql-functions.ts'

interface ProblemRow {
  readonly placement: LivenessProblem['placement']
  readonly kind: LivenessProblem['kind']
  readonly flow_slug: string
  readonly run_id: string
  readonly step_slug: string | null
  readonly task_index: number | null
  readonly reason: string
}

/** Figures of Postgres, over both placements: each read is one call of one SQL function. */
export class SqlRunStatistics implements RunStatistics {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async read(scope: Scope): Promise<RunFigures> {
    return scalar<RunFigures>(await this.#call('run_statistics', { workspace_id: workspaceOf(scope) ?? null }))
  }

  async auditLiveness(scope: Scope, limit: number): Promise<readonly LivenessProblem[]> {
    const args = { workspace_id: workspaceOf(scope) ?? null, max_rows: limit }
    const rows = (await this.#call('audit_liveness', args)) as ProblemRow[]
    return rows.map((row) => ({
      placement: row.placement,
      kind: row.kind,
      flow: row.flow_slug,
      runId: row.run_id,
      step: row.step_slug,
      task: row.task_index,
      reason: row.reason,
    }))
  }
}
