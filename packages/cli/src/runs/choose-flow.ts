import type { AnyFlow } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'

/**
 * The flow that is meant: the one of this slug, or the only one there is.
 *
 * @throws StarflowError SF610 with the slugs to choose from
 */
export function chooseFlow(flows: readonly AnyFlow[], slug: string | undefined): AnyFlow {
  const found = slug === undefined ? flows : flows.filter((flow) => flow.slug === slug)
  const [flow] = found
  if (flow !== undefined && found.length === 1) return flow
  throw new StarflowError({
    code: 'SF610',
    message: slug === undefined ? 'There are several flows: which one is meant?' : `There is no flow "${slug}" here.`,
    detail: `Flows here: ${flows.map((each) => each.slug).join(', ')}.`,
    hint: slug === undefined ? 'Name it: --flow <slug>' : 'Name the module that has it, or one of these with --flow.',
  })
}
