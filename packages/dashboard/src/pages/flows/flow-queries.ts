import { queryOptions } from '@tanstack/react-query'
import { answerOf, api } from '../../api/api-client.ts'
import type { operations } from '../../api/schema.d.ts'
import { scopeHeader } from '../../api/scope.ts'
import type { Json } from '../../schema-form/json.ts'

export type FlowSummary = operations['listFlows']['responses'][200]['content']['application/json']['flows'][number]

export type FlowStep = FlowSummary['steps'][number]

/** All flows by slug. */
export const flowsQuery = queryOptions({
  queryKey: ['flows'],
  queryFn: async ({ signal }): Promise<readonly FlowSummary[]> =>
    (await answerOf(api.GET('/api/flows', { signal }))).flows,
})

export interface StartRequest {
  readonly flow: string
  readonly workspace: string
  readonly input: Json
  readonly placement: 'queue' | 'runner' | undefined
  readonly env: string | undefined
  readonly delayMs: number
  readonly pool: string | undefined
  readonly idempotencyKey: string | undefined
}

/** Starts a run and gives its id. */
export async function startRun(request: StartRequest): Promise<string> {
  const { workspace, input, placement, env, pool, idempotencyKey, ...rest } = request
  const body = {
    ...rest,
    // The cast: the description of the API cannot say that its arrays are not changed.
    input: input as never,
    ...(placement !== undefined && { placement }),
    ...(env !== undefined && { env }),
    ...(pool !== undefined && { pool }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
  // Answered with 201, or 200 where the idempotency key had started it: both hold the run.
  const answer = await answerOf<{ runId: string }>(
    api.POST('/api/runs', { params: { header: scopeHeader(workspace) }, body }),
  )
  return answer.runId
}

/** For the operator alone. */
export async function setFlowPaused(flow: string, isPaused: boolean): Promise<{ readonly isPaused: boolean }> {
  const request = { params: { path: { flow } }, body: {} }
  return await answerOf(
    isPaused ? api.POST('/api/flows/{flow}/pause', request) : api.POST('/api/flows/{flow}/resume', request),
  )
}
