import { StarflowError } from '@starflow/errors'
import type { WorkerSql, WorkerState } from './worker-sql.ts'

export interface StartupOptions {
  readonly sql: Pick<WorkerSql, 'lookAround' | 'registerWorker'>
  /** Makes ready what the worker claims from, and answers its queue. */
  readonly open: () => Promise<string>
  readonly workerId: string
  readonly functionName: string
  readonly startMode: 'http' | 'process'
  readonly executionId: string
}

export interface Started {
  readonly queueName: string
  readonly state: WorkerState
  readonly maxConnections: number
  /** Of each enabled function that the database knows, how many workers it has. */
  readonly workers: readonly number[]
  readonly arrayTypes: readonly (readonly [type: number, array: number])[]
}

/**
 * Brings a worker into the database's picture: looks whether the functions it calls are there, opens its queue (a flow's worker compiles for that), then registers. The
 * order matters: a worker whose compile is refused leaves no row behind; registering makes those of worker and function.
 *
 * @throws what `open` refuses with; StarflowError SF403
 */
export async function startUp(options: StartupOptions): Promise<Started> {
  const { sql, open, workerId, functionName, startMode, executionId } = options
  try {
    const { missingFunctions, maxConnections, workers, arrayTypes } = await sql.lookAround()
    if (missingFunctions.length > 0) throw missingFunctionsError(missingFunctions)
    const queueName = await open()
    const state = await sql.registerWorker({ workerId, queueName, functionName, startMode, executionId })
    return { queueName, state, maxConnections, workers, arrayTypes }
  } catch (error) {
    throw isMissingSchema(error) ? notMigrated(error) : error
  }
}

/** Undefined function, table, schema or column. */
function isMissingSchema(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && ['42883', '42P01', '3F000', '42703'].includes(code)
}

function notMigrated(cause: unknown): StarflowError {
  return new StarflowError({
    code: 'SF403',
    message: 'The database does not have the functions that this worker calls.',
    detail: (cause as Error).message,
    hint: 'Apply the migrations of the version you deploy, then send the request again.',
    cause,
  })
}

function missingFunctionsError(missing: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF403',
    message: 'The database does not have the functions that this worker calls.',
    detail: `Missing, or with other parameters: ${missing.map((name) => `pgflow.${name}`).join(', ')}.`,
    hint: 'Apply the migrations of the version you deploy, then send the request again.',
    fields: { missing: [...missing] },
  })
}
