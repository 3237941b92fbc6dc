import { type AnyFlow, inputProblem, type Json, toJsonText } from '@starflow/dsl'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { readJsonArgument } from './json-argument.ts'

/**
 * The input of a new run, checked before anything of it exists.
 *
 * @throws StarflowError SF610 for what is no JSON, SF203 for what cannot be kept or the schema of the flow refuses
 */
export async function checkedInput(flow: AnyFlow, argument: string | undefined): Promise<Json> {
  const input = argument === undefined ? {} : readJsonArgument('--input', argument)
  const problem = storageProblem(input) ?? (flow.input === undefined ? null : await inputProblem(flow.input, input))
  if (problem === null) return input
  throw new StarflowError({
    code: 'SF203',
    message: `The input does not fit flow "${flow.slug}".`,
    detail: problem,
    hint: 'Correct --input. Nothing was started.',
    fields: { flowSlug: flow.slug },
  })
}

/** JSON may have what Postgres cannot hold: it is refused everywhere, and not found out by whoever executes the run. */
function storageProblem(input: Json): string | null {
  try {
    toJsonText(input)
    return null
  } catch (error) {
    if (!isStarflowError(error, 'SF304')) throw error
    return error.message.replace(/^The output cannot be stored: /, '')
  }
}
