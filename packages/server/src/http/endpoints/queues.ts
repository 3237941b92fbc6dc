import type { FencedFunction } from '@starflow/core/operations'
import { coverageProblem } from '@starflow/core/operations'
import { StarflowError } from '@starflow/errors'
import { z } from 'zod'
import { MAX_PAGE_SIZE } from '../../numbers.ts'
import type { QueueOperations } from '../../runs/queue-operations.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const seconds = z.number().nullable()

const workerFunction = z.object({
  function: z.string(),
  isEnabled: z.boolean().describe('False: it is never pinged, and its workers claim nothing.'),
  isEnabledBeforeFence: z.boolean().nullable().describe('What restoring puts back; null where no fence is.'),
  fencedBy: z.string().nullable(),
  fencedAt: z.iso.datetime().nullable(),
  disabledReason: z.string().nullable(),
})

const functionName = z.object({ function: z.string().min(1).max(200).describe('The worker function.') })

/** Step queues, the workers that serve them, and their fence. Undefined operations: there are no step queues here. */
export function queueEndpoints(operations: QueueOperations | undefined): Endpoint[] {
  const tag = 'Queues'
  return [
    endpoint({
      ...{ id: 'listQueues', method: 'get', path: '/api/queues', tag, access: 'caller' },
      summary: 'List the queues with their depth, age and workers',
      answers: {
        200: {
          description: 'The queues of flows and of queue workers.',
          schema: z.object({
            queues: z.array(
              z.object({
                queue: z.string(),
                steps: z.array(z.string()).describe('Whose routes lead there, as `flow.step`.'),
                depth: z.int().nullable().describe('Messages, counted up to 1000; null: the queue is gone.'),
                oldestSeconds: seconds,
                liveWorkers: z.int(),
              }),
            ),
          }),
        },
      },
      handle: async () => {
        const queues = (await operations?.queues()) ?? []
        return {
          status: 200,
          body: { queues: queues.map(({ queueName, ...rest }) => ({ queue: queueName, ...rest })) },
        }
      },
    }),
    endpoint({
      ...{ id: 'listCoverage', method: 'get', path: '/api/coverage', tag, access: 'caller' },
      summary: 'List the routes of flows beside the workers that serve them',
      query: z.object({ flow: schema.slug.optional() }),
      answers: {
        200: {
          description: 'Every persisted route. `problem` says why its work would not be done now.',
          schema: z.object({
            routes: z.array(
              z.object({
                flow: schema.slug,
                step: schema.slug,
                queue: z.string(),
                depth: z.int().nullable(),
                oldestSeconds: seconds,
                liveWorkers: z.int(),
                functions: z.array(z.string()),
                isFenced: z.boolean(),
                fence: z.string().nullable(),
                problem: z.string().nullable(),
              }),
            ),
          }),
        },
      },
      handle: async ({ query }) => {
        const routes = (await operations?.coverage(query.flow)) ?? []
        return {
          status: 200,
          body: {
            routes: routes.map((route) => {
              const { flowSlug, stepSlug, queueName, ...rest } = route
              return {
                flow: flowSlug,
                step: stepSlug,
                queue: queueName,
                ...rest,
                problem: coverageProblem(route) ?? null,
              }
            }),
          },
        }
      },
    }),
    endpoint({
      ...{ id: 'listWorkers', method: 'get', path: '/api/workers', tag, access: 'caller' },
      summary: 'List the workers of step queues, the youngest first',
      query: z.object({ all: z.enum(['true', 'false']).default('false').describe('Also silent and stopped ones.') }),
      answers: {
        200: {
          description: 'Workers.',
          schema: z.object({
            workers: z.array(
              z.object({
                workerId: z.uuid(),
                function: z.string(),
                queue: z.string(),
                state: z.enum(['live', 'finishing', 'silent', 'stopped']),
                startedAt: z.iso.datetime(),
                ageSeconds: z.number(),
                heartbeatSecondsAgo: z.number(),
              }),
            ),
          }),
        },
      },
      handle: async ({ query }) => {
        const workers = (await operations?.workers({ all: query.all === 'true', limit: MAX_PAGE_SIZE })) ?? []
        return {
          status: 200,
          body: {
            workers: workers.map(({ functionName: name, queueName, startedAt, ...rest }) => ({
              ...{ function: name, queue: queueName, startedAt: schema.iso(startedAt), ...rest },
            })),
          },
        }
      },
    }),
    endpoint({
      ...{ id: 'listFunctions', method: 'get', path: '/api/functions', tag, access: 'caller' },
      summary: 'List the worker functions with their fence',
      answers: {
        200: { description: 'Worker functions.', schema: z.object({ functions: z.array(workerFunction) }) },
      },
      handle: async () => ({
        status: 200,
        body: { functions: ((await operations?.functions()) ?? []).map(viewOf) },
      }),
    }),
    endpoint({
      ...{ id: 'fenceFunction', method: 'post', path: '/api/functions/{function}/fence', tag, access: 'operator' },
      summary: 'Disable a worker function, and remember what it was',
      params: functionName,
      body: z.strictObject({
        by: z
          .string()
          .trim()
          .min(1)
          .max(200)
          .default('operator')
          .describe('Who fences; only the same name may fence it again.'),
      }),
      answers: { 200: { description: 'The function, fenced.', schema: workerFunction } },
      errors: ['SF421', 'SF422'],
      handle: async ({ params, body }) => {
        if (operations === undefined) throw noQueues(params.function)
        return { status: 200, body: viewOf(await operations.fence(params.function, body.by)) }
      },
    }),
    endpoint({
      ...{ id: 'restoreFunction', method: 'post', path: '/api/functions/{function}/restore', tag, access: 'operator' },
      summary: 'Lift the fence of a worker function',
      description: 'It is enabled or disabled again as the fence found it. Twice is fine.',
      params: functionName,
      body: z.strictObject({}),
      answers: { 200: { description: 'The function, without a fence.', schema: workerFunction } },
      errors: ['SF422'],
      handle: async ({ params }) => {
        if (operations === undefined) throw noQueues(params.function)
        return { status: 200, body: viewOf(await operations.restore(params.function)) }
      },
    }),
  ]
}

function viewOf(row: FencedFunction): z.input<typeof workerFunction> {
  return {
    function: row.functionName,
    isEnabled: row.enabled,
    isEnabledBeforeFence: row.enabledBeforeFence,
    fencedBy: row.fencedBy,
    fencedAt: schema.iso(row.fencedAt),
    disabledReason: row.disabledReason,
  }
}

function noQueues(name: string): StarflowError {
  return new StarflowError({
    code: 'SF422',
    message: `Worker function "${name}" is not known here.`,
    detail: 'This server has no step queues: SUPABASE_DB_URL is not set, or runs are kept on SQLite.',
    hint: 'Start it with SUPABASE_URL, its key and SUPABASE_DB_URL.',
  })
}
