import { inputProblem, invalidInput, type Json, type StandardSchemaV1 } from '@starflow/dsl'
import { RunCache } from './run-cache.ts'

/**
 * Checks the input of runs against the flow's schema before a root handler sees it: runs that were started in SQL have
 * passed no other check. A run is checked once by each worker, not once per element of a root map.
 */
export class InputCheck {
  readonly #flowSlug: string
  readonly #schema: StandardSchemaV1 | undefined
  readonly #problems = new RunCache<string | null>()

  constructor(flowSlug: string, schema: StandardSchemaV1 | undefined) {
    this.#flowSlug = flowSlug
    this.#schema = schema
  }

  /** @throws NonRetryableError: the same input is as wrong the next time */
  async require(runId: string, loadInput: () => Promise<Json>): Promise<void> {
    const schema = this.#schema
    if (schema === undefined) return
    const problem = await this.#problems.get(runId, async () => inputProblem(schema, await loadInput()))
    if (problem !== null) throw invalidInput(this.#flowSlug, problem)
  }
}
