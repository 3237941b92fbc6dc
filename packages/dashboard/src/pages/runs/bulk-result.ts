import { countOf, formatCount } from '../../format/count.ts'

/** What became of one run among many that were steered together. */
export interface BulkOutcome {
  readonly runId: string
  /**
   * What the server says, where it answered. `unknown`: no answer came to the request with this run, so that it may be done or not.
   * `not_asked`: it was not asked for any more.
   */
  readonly outcome: 'cancelled' | 'retried' | 'unchanged' | 'not_found' | 'failed' | 'unknown' | 'not_asked'
  readonly error: string | null
}

/** Runs that are not as they were asked for, all for the same reason. */
export interface RefusedRuns {
  readonly reason: string
  readonly runIds: readonly string[]
}

export interface BulkResult {
  readonly total: number
  readonly done: number
  /** The reason of most first. */
  readonly refused: readonly RefusedRuns[]
}

/**
 * Steers runs, so many at a time as one request may name. The first request that fails is the last one: what stopped it would stop
 * the next ones too. What was done before is kept in mind, and each of the others has its outcome too.
 */
export async function steerInTurns(
  runIds: readonly string[],
  options: {
    readonly size: number
    readonly steer: (some: readonly string[]) => Promise<readonly BulkOutcome[]>
    readonly onProgress: (done: number) => void
    /** What a thrown value says to a person. */
    readonly reasonOf: (error: unknown) => string
  },
): Promise<readonly BulkOutcome[]> {
  const outcomes: BulkOutcome[] = []
  for (let start = 0; start < runIds.length; start += options.size) {
    const end = start + options.size
    try {
      outcomes.push(...(await options.steer(runIds.slice(start, end))))
    } catch (error) {
      const reason = options.reasonOf(error)
      const rest = runIds.slice(start).map((runId, index): BulkOutcome => {
        return { runId, outcome: start + index < end ? 'unknown' : 'not_asked', error: reason }
      })
      return [...outcomes, ...rest]
    }
    options.onProgress(outcomes.length)
  }
  return outcomes
}

/** Counts what was done, and gathers the others by what stood against it. */
export function bulkResult(outcomes: readonly BulkOutcome[]): BulkResult {
  const refused = new Map<string, string[]>()
  for (const outcome of outcomes) {
    const reason = refusalOf(outcome)
    if (reason === null) continue
    const runIds = refused.get(reason)
    if (runIds === undefined) refused.set(reason, [outcome.runId])
    else runIds.push(outcome.runId)
  }
  const groups = [...refused].map(([reason, runIds]) => ({ reason, runIds }))
  return {
    total: outcomes.length,
    done: outcomes.length - groups.reduce((sum, { runIds }) => sum + runIds.length, 0),
    refused: groups.sort((a, b) => b.runIds.length - a.runIds.length),
  }
}

/** How many were done, and what is with the others. `done` is what was to be done with them: `cancelled`. */
export function refusedText({ total, done: count }: BulkResult, done: string): string {
  if (count === 0) {
    return total === 1
      ? `The run was not ${done}, and stays selected.`
      : `None of the ${formatCount(total)} runs was ${done}. They stay selected.`
  }
  const others = total - count
  const stay = others === 1 ? 'The other one stays selected.' : `The other ${formatCount(others)} stay selected.`
  return `${formatCount(count)} of ${countOf(total, 'run')} ${done}. ${stay}`
}

/** Null: it is done. */
function refusalOf({ runId, outcome, error }: BulkOutcome): string | null {
  switch (outcome) {
    case 'cancelled':
    case 'retried':
      return null
    case 'unchanged':
      return 'Its status had changed meanwhile, and does not allow it.'
    case 'not_found':
      return 'It is not there any more.'
    case 'unknown':
      return `Whether it is done is not known. ${error}`
    case 'not_asked':
      return `It was not asked for any more. ${error}`
    default:
      // Reasons that differ in the run that they name are one.
      return (error ?? 'It failed.').replaceAll(runId, '…')
  }
}
