import type { Json } from './json.ts'
import type { RunnerContext } from './runner-context.ts'
import { forRunners } from './runner-steps.ts'

/**
 * The handler of a step that an external worker serves: its input is the payload of the job, and the job's result is its output.
 * The type of the output is believed, not checked.
 *
 * @example
 * flow.step({ slug: 'transcribe', timeout: 600 }, externalStep<{ text: string }>('transcribe'))
 */
export function externalStep<TOutput = Json>(kind: string) {
  return forRunners(
    async (input: unknown, context: Pick<RunnerContext, 'workerJob'>): Promise<TOutput> =>
      // The casts: the input of a step is JSON, and so is what comes back.
      (await context.workerJob({ kind, payload: input as Json })) as TOutput,
  )
}
