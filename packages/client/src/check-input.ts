import type { StandardSchemaV1 } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'

const MAX_ISSUES = 10

/**
 * Checks an input before it is sent. Values are not repeated in the refusal.
 *
 * @throws StarflowError SF203
 */
export async function checkInput(flowSlug: string, schema: StandardSchemaV1, input: unknown): Promise<void> {
  const { issues } = await schema['~standard'].validate(input)
  if (issues === undefined) return
  const problems = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${['$', ...(path ?? []).map(keyOf)].join('.')}: ${message}`)
  throw new StarflowError({
    code: 'SF203',
    message: `The input for flow "${flowSlug}" does not fit its schema.`,
    detail: problems.join('; '),
    hint: 'Nothing was started.',
    fields: { flowSlug },
  })
}

function keyOf(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === 'object' ? part.key : part)
}
