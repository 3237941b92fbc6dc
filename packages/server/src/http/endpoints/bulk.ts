import { isStarflowError } from '@starflow/errors'
import { z } from 'zod'
import { BULK_CONCURRENCY, MAX_BULK_RUNS } from '../../numbers.ts'
import { inTurns } from '../../runs/in-turns.ts'
import type { RunDirectory } from '../../runs/run-directory.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import { errorAnswer } from '../error-answer.ts'
import * as schema from '../schemas.ts'

const runIds = z
  .array(schema.runId)
  .min(1)
  .max(MAX_BULK_RUNS)
  .refine((ids) => new Set(ids).size === ids.length, 'must name each run once')

const outcomes = (changed: string) =>
  z.object({
    runs: z.array(
      z.object({
        runId: schema.runId,
        outcome: z
          .enum([changed, 'unchanged', 'not_found', 'failed'])
          .describe('unchanged: its status did not allow it. failed: see error; what became of it is not known.'),
        error: z.string().nullable(),
      }),
    ),
  })

/** Steering many runs with one request. Each is a decision of its own: what one is refused stops no other. */
export function bulkEndpoints(runs: RunDirectory): Endpoint[] {
  const tag = 'Runs'
  return [
    endpoint({
      ...{ id: 'cancelRuns', method: 'post', path: '/api/runs/cancel', tag, access: 'scope' },
      summary: 'Cancel some runs',
      body: z.strictObject({ runIds, reason: z.string().max(2000).default('cancelled over HTTP') }),
      answers: { 200: { description: 'What became of each run, in the order asked.', schema: outcomes('cancelled') } },
      handle: async ({ scope, body }) => ({
        status: 200,
        body: { runs: await decideEach(body.runIds, 'cancelled', (runId) => runs.cancel(scope, runId, body.reason)) },
      }),
    }),
    endpoint({
      ...{ id: 'retryRuns', method: 'post', path: '/api/runs/retry', tag, access: 'scope' },
      summary: 'Start some failed or cancelled runs again where they stopped',
      body: z.strictObject({ runIds }),
      answers: { 200: { description: 'What became of each run, in the order asked.', schema: outcomes('retried') } },
      handle: async ({ scope, body }) => ({
        status: 200,
        body: { runs: await decideEach(body.runIds, 'retried', (runId) => runs.retry(scope, runId)) },
      }),
    }),
  ]
}

function decideEach(runIds: readonly string[], changed: string, decide: (runId: string) => Promise<boolean>) {
  return inTurns(runIds, BULK_CONCURRENCY, async (runId) => {
    try {
      return { runId, outcome: (await decide(runId)) ? changed : 'unchanged', error: null }
    } catch (error) {
      if (isStarflowError(error, 'SF802')) return { runId, outcome: 'not_found', error: null }
      return { runId, outcome: 'failed', error: errorAnswer(error, '').body.error.message }
    }
  })
}
