import { answerOf, api } from '../../api/api-client.ts'
import { errorText } from '../../api/api-error.ts'
import type { operations } from '../../api/schema.d.ts'
import { scopeHeader, type WorkspaceScope } from '../../api/scope.ts'
import { type BulkOutcome, steerInTurns } from './bulk-result.ts'
import type { RunFilter } from './run-filter.ts'
import type { RunPage } from './run-pages.ts'

export type RunSummary = operations['listRuns']['responses'][200]['content']['application/json']['runs'][number]

const PAGE_SIZE = 200
/** As many runs as one request may steer. */
const BULK_SIZE = 100

export interface AskedRuns {
  readonly scope: WorkspaceScope
  readonly filter: RunFilter
  /** From when on, as it was when the list began. */
  readonly from: string | undefined
}

/** One page of a list; null asks for the first. */
export function listRuns(asked: AskedRuns, cursor: string | null, signal: AbortSignal): Promise<RunPage<RunSummary>> {
  const { flow, status, q, until, placement, env } = asked.filter
  const query = {
    limit: String(PAGE_SIZE),
    ...(cursor !== null && { cursor }),
    ...(flow !== undefined && { flow }),
    ...(status !== undefined && { status: status.join(',') }),
    ...(q !== undefined && { q }),
    ...(asked.from !== undefined && { from: asked.from }),
    ...(until !== undefined && { to: until }),
    ...(placement !== undefined && { placement }),
    ...(env !== undefined && { env }),
  }
  return answerOf(api.GET('/api/runs', { params: { query, header: scopeHeader(asked.scope) }, signal }))
}

/** Cancels or retries many runs, some at a time; tells how far it is. */
export async function steerRuns(
  scope: WorkspaceScope,
  action: 'cancel' | 'retry',
  runIds: readonly string[],
  options: { readonly reason?: string | undefined; readonly onProgress: (done: number) => void },
): Promise<readonly BulkOutcome[]> {
  const params = { header: scopeHeader(scope) }
  const steer = async (some: readonly string[]) => {
    const answer =
      action === 'cancel'
        ? api.POST('/api/runs/cancel', {
            params,
            body: { runIds: [...some], ...(options.reason !== undefined && { reason: options.reason }) },
          })
        : api.POST('/api/runs/retry', { params, body: { runIds: [...some] } })
    return (await answerOf<{ readonly runs: readonly BulkOutcome[] }>(answer)).runs
  }
  return await steerInTurns(runIds, {
    ...{ size: BULK_SIZE, steer, onProgress: options.onProgress },
    reasonOf: (error) => errorText(error).title,
  })
}
