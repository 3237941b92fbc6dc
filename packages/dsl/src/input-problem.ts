import type { Json } from './json.ts'
import { NonRetryableError } from './non-retryable-error.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'

/** What a schema finds wrong with an input, by path; null for nothing. The values themselves are not repeated. */
export async function inputProblem(schema: StandardSchemaV1, input: Json): Promise<string | null> {
  const result = await schema['~standard'].validate(input)
  if (result.issues === undefined) return null
  return result.issues
    .slice(0, 10)
    .map((issue) => `${pathOf(issue.path)}: ${issue.message}`)
    .join('; ')
}

/** What a root step fails with, wherever it runs, when the input of its run is refused: the same input is as wrong the next time. */
export function invalidInput(flowSlug: string, problem: string): NonRetryableError {
  return new NonRetryableError(`The input does not match the schema of flow "${flowSlug}": ${problem}`)
}

function pathOf(path: readonly unknown[] | undefined): string {
  const keys = (path ?? []).map((part) =>
    typeof part === 'object' && part !== null && 'key' in part ? part.key : part,
  )
  return ['$', ...keys.map(String)].join('.')
}
