import { type Json, NonRetryableError, type StandardSchemaV1 } from '@starflow/dsl'
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
    const problem = await this.#problems.get(runId, async () => problemOf(schema, await loadInput()))
    if (problem === null) return
    throw new NonRetryableError(`The input does not match the schema of flow "${this.#flowSlug}": ${problem}`)
  }
}

/** What is wrong, by path; the values themselves are not repeated. */
async function problemOf(schema: StandardSchemaV1, input: Json): Promise<string | null> {
  const result = await schema['~standard'].validate(input)
  if (result.issues === undefined) return null
  return result.issues
    .slice(0, 10)
    .map((issue) => `${pathOf(issue.path)}: ${issue.message}`)
    .join('; ')
}

function pathOf(path: readonly unknown[] | undefined): string {
  const keys = (path ?? []).map((part) =>
    typeof part === 'object' && part !== null && 'key' in part ? part.key : part,
  )
  return ['$', ...keys.map(String)].join('.')
}
