import { DEFAULT_ENV, ENDED_STATUSES } from '@starflow/engine'
import { z } from 'zod'
import { MAX_LOOKED_AT_RUNS, MAX_SEARCH_LENGTH, MAX_START_DELAY_MS } from '../../numbers.ts'
import type { RunDirectory } from '../../runs/run-directory.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import { eventStream } from '../event-stream.ts'
import * as schema from '../schemas.ts'

/** Starting, showing and steering runs. */
export function runEndpoints(runs: RunDirectory): Endpoint[] {
  return [start(runs), list(runs), read(runs), readStatus(runs), events(runs), cancel(runs), retry(runs)]
}

function start(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'startRun', method: 'post', path: '/api/runs', tag: 'Runs', access: 'workspace' },
    summary: 'Start a run',
    description:
      'Without a placement: on step queues where the flow is compiled in the database, else on a runner. A start with a pool is for runners.',
    body: z.strictObject({
      flow: schema.slug.describe('The slug of the flow.'),
      input: schema.json.default({}).describe('What the run starts with.'),
      placement: schema.placement.optional(),
      env: schema.name.default(DEFAULT_ENV).describe('The environment that the run is counted to.'),
      idempotencyKey: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('The same key again in this workspace and environment gives the run that it started.'),
      delayMs: z
        .int()
        .min(0)
        .max(MAX_START_DELAY_MS)
        .default(0)
        .describe('Nothing of the run begins before this has passed.'),
      pool: schema.name.optional().describe('Only runners of this pool claim the run.'),
    }),
    answers: {
      201: { description: 'The run was started.', schema: schema.runDetail },
      200: { description: 'The idempotency key had started it before.', schema: schema.runDetail },
    },
    errors: ['SF201', 'SF202', 'SF203', 'SF206', 'SF910'],
    handle: async ({ workspaceId, body, headers }) => {
      const { flow, input, placement, env, idempotencyKey, delayMs, pool } = body
      const { runId, created } = await runs.start({
        ...{ workspaceId, env, flowSlug: flow, input, placement, idempotencyKey, delayMs, pool },
        traceparent: headers.get('traceparent'),
      })
      return { status: created ? 201 : 200, body: await runs.read({ workspaceId }, runId) }
    },
  })
}

function list(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'listRuns', method: 'get', path: '/api/runs', tag: 'Runs', access: 'scope' },
    summary: 'List runs, the newest first',
    description: `A page may have fewer runs than the limit, or none, and a next one: it looks at ${MAX_LOOKED_AT_RUNS} runs at most.`,
    query: z.object({
      flow: schema.slug.optional(),
      status: schema.runStatuses.optional(),
      q: z
        .string()
        .trim()
        .min(1)
        .max(MAX_SEARCH_LENGTH)
        .optional()
        .describe('The beginning of a run id (8 digits or more), or a part of flow slug or error.'),
      from: schema.instantInQuery.optional().describe('Made at this instant or later.'),
      to: schema.instantInQuery.optional().describe('Made before this instant.'),
      env: schema.name.optional(),
      placement: schema.placement.optional(),
      cursor: z.string().max(1000).optional().describe('What the last page gave as next.'),
      limit: schema.limit,
    }),
    answers: {
      200: {
        description: 'A page of runs. `next` is null on the last one.',
        schema: z.object({ runs: z.array(schema.runSummary), next: z.string().nullable() }),
      },
    },
    handle: async ({ scope, query }) => {
      const { flow: flowSlug, status: statuses, q: search, from: createdFrom, to: createdBefore } = query
      const { env, placement, cursor, limit } = query
      const filter = { flowSlug, statuses, search, createdFrom, createdBefore, env, placement }
      return { status: 200, body: await runs.list(scope, { ...filter, cursor, limit }) }
    },
  })
}

function read(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'getRun', method: 'get', path: '/api/runs/{runId}', tag: 'Runs', access: 'scope' },
    summary: 'Show a run with its steps',
    params: z.object({ runId: schema.runId }),
    answers: { 200: { description: 'The run.', schema: schema.runDetail } },
    errors: ['SF802'],
    handle: async ({ scope, params }) => ({ status: 200, body: await runs.read(scope, params.runId) }),
  })
}

function readStatus(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'getRunStatus', method: 'get', path: '/api/runs/{runId}/status', tag: 'Runs', access: 'scope' },
    summary: 'Show how far a run is, for whoever asks again and again',
    description:
      'Reads no input and no output. Whoever can hold a connection open is better served by the events of the run, or by `/api/live`.',
    params: z.object({ runId: schema.runId }),
    answers: { 200: { description: 'The run and its steps.', schema: schema.runStatusView } },
    errors: ['SF802'],
    handle: async ({ scope, params }) => ({ status: 200, body: await runs.readStatus(scope, params.runId) }),
  })
}

function events(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'listRunEvents', method: 'get', path: '/api/runs/{runId}/events', tag: 'Runs', access: 'scope' },
    summary: 'List what happened to a run, or follow it',
    description:
      'With `Accept: text/event-stream` the answer is a stream: what there is, then what comes, and `event: end` when the run has ended. It goes on behind `Last-Event-ID`. Of a run on step queues the events are read off its tables, which keep the last attempt of each task.',
    params: z.object({ runId: schema.runId }),
    query: z.object({
      after: z.string().max(1000).optional().describe('The id of the last event that was read.'),
      limit: schema.limit,
    }),
    answers: {
      200: {
        description: 'Events in the order in which they happened.',
        schema: z.object({ events: z.array(schema.runEvent) }),
        isStreamable: true,
      },
    },
    errors: ['SF802'],
    handle: async ({ scope, params: { runId }, query, headers, signal }) => {
      if (!/\btext\/event-stream\b/.test(headers.get('accept') ?? '')) {
        return {
          status: 200,
          body: { events: await runs.events(scope, runId, { after: query.after, limit: query.limit }) },
        }
      }
      const follower = await runs.follow(scope, runId, headers.get('last-event-id') ?? query.after)
      const hasEnded = async () => ENDED_STATUSES.includes((await runs.read(scope, runId)).status)
      return await eventStream({ follower, hasEnded, signal })
    },
  })
}

function cancel(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'cancelRun', method: 'post', path: '/api/runs/{runId}/cancel', tag: 'Runs', access: 'scope' },
    summary: 'Cancel a run',
    description: 'What has completed stays; nothing else begins, and a late report changes nothing.',
    params: z.object({ runId: schema.runId }),
    body: z.strictObject({ reason: z.string().max(2000).default('cancelled over HTTP') }),
    answers: {
      200: {
        description: 'Whether this request cancelled it: false when it had ended before.',
        schema: z.object({ cancelled: z.boolean() }),
      },
    },
    errors: ['SF802'],
    handle: async ({ scope, params, body }) => ({
      status: 200,
      body: { cancelled: await runs.cancel(scope, params.runId, body.reason) },
    }),
  })
}

function retry(runs: RunDirectory): Endpoint {
  return endpoint({
    ...{ id: 'retryRun', method: 'post', path: '/api/runs/{runId}/retry', tag: 'Runs', access: 'scope' },
    summary: 'Start a failed or cancelled run again where it stopped',
    params: z.object({ runId: schema.runId }),
    body: z.strictObject({}),
    answers: {
      200: {
        description: 'Whether it was started again: false for a run that goes on, or was a success.',
        schema: z.object({ retried: z.boolean() }),
      },
    },
    errors: ['SF802'],
    handle: async ({ scope, params }) => ({
      status: 200,
      body: { retried: await runs.retry(scope, params.runId) },
    }),
  })
}
