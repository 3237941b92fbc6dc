import type { QueueingStateAdapter } from '@starflow/engine'
import { z } from 'zod'
import { workspaceOf } from '../../workspace.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

/** Runners, and the queued runs that none of them serves. */
export function runnerEndpoints(adapter: QueueingStateAdapter): Endpoint[] {
  const tag = 'Runners'
  return [
    endpoint({
      ...{ id: 'listRunners', method: 'get', path: '/api/runners', tag, access: 'caller' },
      summary: 'List the runners that were heard of within the last day',
      answers: {
        200: {
          description: 'Runners.',
          schema: z.object({
            runners: z.array(
              z.object({
                runnerId: z.string(),
                pool: z.string().nullable().describe('It claims runs of this pool and of none; null: only of none.'),
                capacity: z.int(),
                runs: z.int(),
                lastHeartbeat: z.iso.datetime(),
                isLive: z.boolean(),
              }),
            ),
          }),
        },
      },
      handle: async () => {
        const runners = await adapter.listRunners()
        return {
          status: 200,
          body: {
            runners: runners.map(({ runnerPool, lastHeartbeat, ...rest }) => ({
              ...rest,
              pool: runnerPool,
              lastHeartbeat: schema.iso(lastHeartbeat),
            })),
          },
        }
      },
    }),
    endpoint({
      ...{ id: 'listUnservedRuns', method: 'get', path: '/api/runners/unserved', tag, access: 'scope' },
      summary: 'List queued runs that no live runner serves, the oldest first',
      query: z.object({ limit: schema.limit }),
      answers: {
        200: {
          description:
            'Runs and the reason: no runner lives, none has code of the definition that the run is tied to, or none of those is of its pool.',
          schema: z.object({
            runs: z.array(
              z.object({
                runId: schema.runId,
                flow: schema.slug,
                pool: z.string().nullable(),
                queuedAt: z.iso.datetime(),
                reason: z.enum(['no_runner', 'other_definition', 'other_pool']),
              }),
            ),
          }),
        },
      },
      handle: async ({ scope, query }) => {
        const runs = await adapter.listUnservedRuns({ workspaceId: workspaceOf(scope), limit: query.limit })
        return {
          status: 200,
          body: {
            runs: runs.map(({ runId, templateId, runnerPool, queuedAt, reason }) => ({
              ...{ runId, flow: templateId, pool: runnerPool, queuedAt: schema.iso(queuedAt), reason },
            })),
          },
        }
      },
    }),
  ]
}
