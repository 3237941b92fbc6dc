import { coverageProblem, type FencedFunction, QUEUE_TROUBLES, queueTroubles } from '@starflow/core/operations'
import { StarflowError } from '@starflow/errors'
import { z } from 'zod'
import { HISTORY_POINTS, HISTORY_SHOWN_MS, MAX_PAGE_SIZE } from '../../numbers.ts'
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

const listedFunction = workerFunction.extend({
  startMode: z
    .enum(['http', 'process'])
    .describe('How its workers are started: by pings, or as a process by somebody else.'),
  queues: z.array(z.string()),
  liveWorkers: z.int(),
  lastInvokedAt: z.iso.datetime().nullable().describe('When it was pinged last.'),
  failedStarts: z.int().describe('Starts in a row that have failed.'),
  lastError: z.string().nullable(),
  lastErrorAt: z.iso.datetime().nullable(),
  lives: z.int().describe('Workers that were started within the last hour.'),
  tasksPerLife: z
    .number()
    .nullable()
    .describe('What one of them did on average; null where that is not known, or its queues are shared.'),
  measuredWorkers: z
    .int()
    .describe('Of these lives, and of workers that go on since before: those whose isolate or process was measured.'),
  cpuMsPerTask: z
    .number()
    .nullable()
    .describe('CPU of these isolates and processes by the tasks done in them; null: none was measured, or had a task.'),
})

const historyParams = z.object({ queue: z.string().min(1).max(200).describe('The name of the queue.') })

const functionName = z.object({ function: z.string().min(1).max(200).describe('The worker function.') })

/** Step queues, the workers that serve them, and their fence. Undefined operations: there are no step queues here. */
export function queueEndpoints(operations: QueueOperations | undefined): Endpoint[] {
  const tag = 'Queues'
  return [
    endpoint({
      ...{ id: 'listQueues', method: 'get', path: '/api/queues', tag, access: 'operator' },
      summary: 'List the queues with their depth, age and workers',
      answers: {
        200: {
          description: 'The queues of flows and of queue workers.',
          schema: z.object({
            queues: z.array(
              z.object({
                queue: z.string(),
                steps: z.array(z.string()).describe('Whose routes lead there, as `flow.step`.'),
                depth: z.int().nullable().describe('Messages, counted up to 10000; null: the queue is gone.'),
                inFlight: z.int().nullable().describe('Those that a worker has taken and not settled.'),
                oldestSeconds: seconds.describe('Since the oldest message was sent.'),
                waitingSeconds: seconds.describe('Since a message could have been taken; null: none could be.'),
                donePerMinute: z
                  .number()
                  .nullable()
                  .describe('Since about a minute ago; null where nothing samples the queues.'),
                stalled: z.int().describe('Tasks past their recovery boundary, counted up to 1000.'),
                unsupported: z
                  .int()
                  .nullable()
                  .describe('Messages that no task knows, among the oldest 1000; null of the queue of a queue worker.'),
                liveWorkers: z.int(),
                functions: z.array(z.string()).describe('Worker functions that serve it.'),
                isFenced: z.boolean().describe('All of them are disabled.'),
                fence: z.string().nullable(),
                troubles: z.array(z.enum(QUEUE_TROUBLES)).describe('What is wrong, the worst first.'),
              }),
            ),
          }),
        },
      },
      handle: async () => {
        const queues = (await operations?.queues()) ?? []
        return {
          status: 200,
          body: {
            queues: queues.map((queue) => {
              const { queueName, ...rest } = queue
              return { queue: queueName, ...rest, troubles: queueTroubles(queue) }
            }),
          },
        }
      },
    }),
    endpoint({
      ...{ id: 'showQueueHistory', method: 'get', path: '/api/queues/{queue}/samples', tag, access: 'operator' },
      summary: 'Show the history of a queue, minute by minute',
      description: `Samples are kept for 7 days and put together to about ${HISTORY_POINTS} points: each has the largest depth, the oldest age and the fewest workers of its stretch.`,
      params: historyParams,
      query: z.object({
        from: schema.instantInQuery.optional().describe('Default: an hour before `to`.'),
        to: schema.instantInQuery.optional().describe('Default: now.'),
      }),
      answers: {
        200: {
          description: 'Points in order; none where the sampling is not scheduled.',
          schema: z.object({
            queue: z.string(),
            samples: z.array(
              z.object({
                at: z.iso.datetime(),
                depth: z.int(),
                inFlight: z.int(),
                oldestSeconds: seconds,
                liveWorkers: z.int(),
                done: z.int().nullable().describe('Messages done since the point before.'),
                donePerMinute: z.number().nullable(),
              }),
            ),
          }),
        },
      },
      handle: async ({ params, query }) => {
        const to = query.to === undefined ? new Date() : new Date(query.to)
        const asked = query.from === undefined ? to.getTime() - 60 * 60_000 : Date.parse(query.from)
        // Nothing is older, and a stretch of years would make one point of all.
        const from = new Date(Math.max(asked, to.getTime() - HISTORY_SHOWN_MS))
        const samples = (await operations?.queueHistory(params.queue, { from, to, points: HISTORY_POINTS })) ?? []
        return {
          status: 200,
          body: {
            queue: params.queue,
            samples: samples.map(({ sampledAt, ...rest }) => ({ at: schema.iso(sampledAt), ...rest })),
          },
        }
      },
    }),
    endpoint({
      ...{ id: 'listCoverage', method: 'get', path: '/api/coverage', tag, access: 'operator' },
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
      ...{ id: 'listWorkers', method: 'get', path: '/api/workers', tag, access: 'operator' },
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
                tasks: z.int().nullable().describe('How many it has ended; null where it does not tell.'),
                executionId: z.uuid().describe('The isolate or process that it lives in.'),
                workersInExecution: z.int().describe('How many live or lived there, this one among them.'),
                cpuMs: z.number().nullable().describe('CPU of that isolate or process; null: nobody has measured it.'),
                cpuMsPerTask: z
                  .number()
                  .nullable()
                  .describe('That CPU by the tasks of all workers in it; null: not measured, or no task yet.'),
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
      ...{ id: 'listFunctions', method: 'get', path: '/api/functions', tag, access: 'operator' },
      summary: 'List the worker functions with their fence, their starts and what they do',
      answers: {
        200: { description: 'Worker functions.', schema: z.object({ functions: z.array(listedFunction) }) },
      },
      handle: async () => ({
        status: 200,
        body: {
          functions: ((await operations?.functions()) ?? []).map((row) => ({
            ...viewOf(row),
            ...{ startMode: row.startMode, queues: row.queues, liveWorkers: row.liveWorkers, lives: row.lives },
            ...{ failedStarts: row.failedStarts, lastError: row.lastError, tasksPerLife: row.tasksPerLife },
            ...{ measuredWorkers: row.measuredWorkers, cpuMsPerTask: row.cpuMsPerTask },
            lastInvokedAt: schema.iso(row.lastInvokedAt),
            lastErrorAt: schema.iso(row.lastErrorAt),
          })),
        },
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
      description:
        'It is enabled or disabled again as the fence found it. Twice is fine. The fence of a rollout or deploy that is at work is lifted by force only.',
      params: functionName,
      body: z.strictObject({
        force: z
          .boolean()
          .default(false)
          .describe(
            'Also while a rollout or deploy is at work on it: it is told to stop, and what it deploys may come all the same.',
          ),
      }),
      answers: { 200: { description: 'The function, without a fence.', schema: workerFunction } },
      errors: ['SF422', 'SF632'],
      handle: async ({ params, body }) => {
        if (operations === undefined) throw noQueues(params.function)
        return { status: 200, body: viewOf(await operations.restore(params.function, body.force)) }
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
