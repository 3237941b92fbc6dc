import type { Json } from './json.ts'
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

function pathOf(path: readonly unknown[] | undefined): string {
  const keys = (path ?? []).map((part) =>
    typeof part === 'object' && part !== null && 'key' in part ? part.key : part,
  )
  return ['$', ...keys.map(String)].join('.')
}
