import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from '../../api/api-client.ts'
import type { operations } from '../../api/schema.d.ts'
import { scopeHeader, type WorkspaceScope } from '../../api/scope.ts'
import type { Json } from '../../schema-form/json.ts'

export type OpenWait = operations['listWaits']['responses'][200]['content']['application/json']['waits'][number]
export type ResumeOutcome = operations['resumeWait']['responses'][200]['content']['application/json']['outcome']

/** More than these nobody goes through in one sitting; the oldest are decided first. */
export const MOST_WAITS = 500

/** Open waits, the oldest first. */
export function waitsQuery(scope: WorkspaceScope) {
  return queryOptions({
    queryKey: ['waits', scope],
    queryFn: async ({ signal }): Promise<readonly OpenWait[]> => {
      const params = { query: { limit: String(MOST_WAITS) }, header: scopeHeader(scope) }
      return (await answerOf(api.GET('/api/waits', { params, signal }))).waits
    },
  })
}

export async function resumeWait(
  scope: WorkspaceScope,
  { runId, step }: Pick<OpenWait, 'runId' | 'step'>,
  payload: Json,
): Promise<ResumeOutcome> {
  const params = { path: { runId, step }, header: scopeHeader(scope) }
  // The cast: the description of the API cannot say that its arrays are not changed.
  const body = { payload: payload as never }
  return (await answerOf(api.POST('/api/runs/{runId}/waits/{step}/resume', { params, body }))).outcome
}
