import { StarflowError } from '@starflow/errors'
import { z } from 'zod'
import { waitForJob } from '../../jobs/wait-for-job.ts'
import type { WorkerJobs } from '../../jobs/worker-jobs.ts'
import { JOB_LEASE_S, JOB_WAIT_S, MAX_JOB_ERROR_LENGTH, MAX_JOB_LEASE_S, MAX_JOB_WAIT_S } from '../../numbers.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const tag = 'Worker jobs'
const leaseSeconds = z
  .int()
  .min(1)
  .max(MAX_JOB_LEASE_S)
  .default(JOB_LEASE_S)
  .describe("How long the job is the worker's without another heartbeat.")
const params = z.object({ jobId: z.uuid().describe('The id of the job.') })
const fence = {
  workerId: schema.name.describe('As in the claim.'),
  attempt: z.int().min(1).describe('As the claim answered it.'),
}
const kind = z.string().min(1).max(128)
const done = { 200: { description: 'It is kept.', schema: z.object({ jobId: z.uuid() }) } }

const job = z.object({
  jobId: z.uuid(),
  runId: schema.runId,
  node: z.string().describe('The step, or `step[3]` for an element of a map.'),
  kind,
  payload: schema.json,
  attempt: z.int(),
  leaseUntil: z.iso.datetime(),
})

/** Jobs of external workers: taken by long polling, kept by heartbeats, ended by a report. */
export function workerJobEndpoints(jobs: WorkerJobs | undefined): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'claimWorkerJob', method: 'post', path: '/api/worker-jobs/claim', tag, access: 'scope' },
      summary: 'Take the oldest job of some kinds, or wait for one',
      body: z.strictObject({
        workerId: schema.name.describe("Tells workers apart; of the worker's own making."),
        kinds: z.array(kind).min(1).max(50),
        leaseSeconds,
        waitSeconds: z
          .int()
          .min(0)
          .max(MAX_JOB_WAIT_S)
          .default(JOB_WAIT_S)
          .describe('How long the answer is held back while there is no job.'),
      }),
      answers: { 200: { description: 'The job, or null.', schema: z.object({ job: job.nullable() }) } },
      errors: ['SF942'],
      handle: async ({ scope, body, signal }) => {
        const given = kept(jobs)
        const claim = { scope, workerId: body.workerId, kinds: body.kinds, leaseMs: body.leaseSeconds * 1000 }
        const taken = await waitForJob(() => given.claim(claim), body.waitSeconds * 1000, signal)
        return { status: 200, body: { job: taken } }
      },
    }),
    endpoint({
      ...{ id: 'heartbeatWorkerJob', method: 'post', path: '/api/worker-jobs/{jobId}/heartbeat', tag, access: 'scope' },
      summary: 'Say that the worker is still at it',
      params,
      body: z.strictObject({ ...fence, leaseSeconds }),
      answers: { 200: { description: 'The lease lasts.', schema: z.object({ leaseUntil: z.iso.datetime() }) } },
      errors: ['SF942', 'SF943', 'SF944'],
      handle: async ({ scope, params, body }) => {
        const { leaseSeconds, ...report } = body
        const leaseUntil = await kept(jobs).heartbeat({
          ...{ scope, jobId: params.jobId, ...report, leaseMs: leaseSeconds * 1000 },
        })
        return { status: 200, body: { leaseUntil } }
      },
    }),
    endpoint({
      ...{ id: 'completeWorkerJob', method: 'post', path: '/api/worker-jobs/{jobId}/complete', tag, access: 'scope' },
      summary: 'Report the result of a job',
      description: 'May be repeated: the first result stays.',
      params,
      body: z.strictObject({ ...fence, result: schema.json.default(null).describe('The output of the step.') }),
      answers: done,
      errors: ['SF942', 'SF943', 'SF944'],
      handle: async ({ scope, params, body }) => {
        await kept(jobs).complete({ scope, jobId: params.jobId, ...body })
        return { status: 200, body: { jobId: params.jobId } }
      },
    }),
    endpoint({
      ...{ id: 'failWorkerJob', method: 'post', path: '/api/worker-jobs/{jobId}/fail', tag, access: 'scope' },
      summary: 'Report that a job could not be done',
      description: 'The attempt of the step fails; its retries decide what follows.',
      params,
      body: z.strictObject({
        ...fence,
        error: z.string().min(1).max(MAX_JOB_ERROR_LENGTH),
        isPermanent: z.boolean().default(false).describe('No further attempt can help.'),
      }),
      answers: done,
      errors: ['SF942', 'SF943', 'SF944'],
      handle: async ({ scope, params, body }) => {
        await kept(jobs).fail({ scope, jobId: params.jobId, ...body })
        return { status: 200, body: { jobId: params.jobId } }
      },
    }),
  ]
}

function kept(jobs: WorkerJobs | undefined): WorkerJobs {
  if (jobs !== undefined) return jobs
  throw new StarflowError({
    code: 'SF942',
    message: 'Worker jobs cannot be kept on sqlite.',
    detail: 'External workers need a server that shares a database with the runners.',
    hint: 'Run this server on Supabase, or on the local platform.',
  })
}
