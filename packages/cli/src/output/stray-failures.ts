import { describeError, StarflowError } from '@starflow/errors'
import { catchStrayFailures } from '@starflow/tracing'
import { EXIT_CODES } from './exit-codes.ts'
import type { Output } from './output.ts'
import { printError } from './print-error.ts'

/**
 * For as long as the work takes, a handler that leaves a promise or a timer behind which fails costs its own attempt, and no other
 * run. What fails outside of every handler ends the process, as Node does: nobody knows what it has left half done, and runs that are
 * under way are found by the sweep.
 */
export async function survivingStrayFailures<T>(output: Output, work: () => Promise<T>): Promise<T> {
  const release = catchStrayFailures((error) => {
    printError(strayFailure(error), output)
    process.exit(EXIT_CODES.failed)
  })
  try {
    return await work()
  } finally {
    release()
  }
}

function strayFailure(error: unknown): StarflowError {
  const { name, message, stack } = describeError(error)
  return new StarflowError({
    code: 'SF819',
    message: `Something failed in this process that belongs to no handler: ${name}: ${message}`,
    detail: stack ?? 'It has no stack.',
    hint: 'Handle it where it is started: await or catch a promise, listen for "error" of an emitter. Runs that were under way go on: on another runner, or with npx starflow run --resume <run>',
    cause: error,
  })
}
