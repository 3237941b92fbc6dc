import type { QueueingStateAdapter } from '@starflow/engine'
import { z } from 'zod'
import { readLeases, readRunners, readUnservedRuns } from '../../runs/runner-views.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

/** Runners, and the queued runs that none of them serves. */
export function runnerEndpoints(adapter: QueueingStateAdapter): Endpoint[] {
  const tag = 'Runners'
  return [
    endpoint({
      ...{ id: 'listRunners', method: 'get', path: '/api/runners', tag, access: 'operator' },
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
                isAccepting: z.boolean().describe('False while it drains, or while its claims are not answered.'),
                workspace: z.string().nullable().describe('Under which it reports: MESH_WORKSPACE of its process.'),
              }),
            ),
          }),
        },
      },
      handle: async () => ({ status: 200, body: { runners: await readRunners(adapter) } }),
    }),
    endpoint({
      ...{ id: 'listLeases', method: 'get', path: '/api/leases', tag, access: 'scope' },
      summary: 'List the runs that runners hold, the one whose lease is over first at the top',
      query: z.object({ limit: schema.limit }),
      answers: {
        200: {
          description: 'Leases.',
          schema: z.object({
            leases: z.array(
              z.object({
                runId: schema.runId,
                flow: z.string(),
                workspace: schema.name,
                runner: z.string(),
                state: z.enum(['claimed', 'running']).describe('claimed: it was taken, and is not executed yet.'),
                claims: z.int().describe('How often it was taken, by whomever.'),
                leaseUntil: z.iso.datetime(),
                lastHeartbeat: z.iso.datetime().nullable(),
              }),
            ),
          }),
        },
      },
      handle: async ({ scope, query }) => ({
        status: 200,
        body: { leases: await readLeases(adapter, scope, query.limit) },
      }),
    }),
    endpoint({
      ...{ id: 'listUnservedRuns', method: 'get', path: '/api/runners/unserved', tag, access: 'scope' },
      summary: 'List queued runs that no live runner serves, the oldest first',
      query: z.object({ limit: schema.limit }),
      answers: {
        200: {
          description:
            'Runs and the reason: no runner lives that takes new runs, one has the flow and refuses it (detail says why), none has code of the definition that the run is tied to, or none of those is of its pool.',
          schema: z.object({
            runs: z.array(
              z.object({
                runId: schema.runId,
                flow: schema.slug,
                pool: z.string().nullable(),
                queuedAt: z.iso.datetime(),
                reason: z.enum(['no_runner', 'refused', 'other_definition', 'other_pool']),
                detail: z.string().nullable(),
              }),
            ),
          }),
        },
      },
      handle: async ({ scope, query }) => ({
        status: 200,
        body: { runs: await readUnservedRuns(adapter, scope, query.limit) },
      }),
    }),
  ]
}
