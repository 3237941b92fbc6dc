import { isStarflowError, type StarflowError } from '@starflow/errors'
import { z } from 'zod'
import { GuessLimit } from '../../auth/guess-limit.ts'
import { MAX_WAIT_TOKEN_LIFE_S } from '../../numbers.ts'
import type { RunDirectory } from '../../runs/run-directory.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

/** Durable waits: what is open, and how it is resumed. */
export function waitEndpoints(runs: RunDirectory): Endpoint[] {
  // A separate limit: wrong tokens of waits bar no caller of the API who comes from the same address.
  const guesses = new GuessLimit(Date.now)
  return [
    endpoint({
      ...{ id: 'listWaits', method: 'get', path: '/api/waits', tag: 'Waits', access: 'scope' },
      summary: 'List open waits, the oldest first',
      query: z.object({ limit: schema.limit }),
      answers: { 200: { description: 'Open waits.', schema: z.object({ waits: z.array(schema.openWait) }) } },
      handle: async ({ scope, query }) => ({ status: 200, body: { waits: await runs.openWaits(scope, query.limit) } }),
    }),
    endpoint({
      ...{
        id: 'resumeWait',
        method: 'post',
        path: '/api/runs/{runId}/waits/{step}/resume',
        tag: 'Waits',
        access: 'scope',
      },
      summary: 'Resume a wait of a run of the workspace',
      params: z.object({ runId: schema.runId, step: schema.slug }),
      body: z.strictObject({ payload: schema.json.default(null).describe('The output of the wait.') }),
      answers: { 200: { description: 'What became of it.', schema: z.object({ outcome: schema.resumeOutcome }) } },
      errors: ['SF203', 'SF206', 'SF209', 'SF802'],
      handle: async ({ scope, params, body }) => ({
        status: 200,
        body: await runs.resumeWait(scope, params.runId, params.step, body.payload),
      }),
    }),
    endpoint({
      ...{
        id: 'issueWaitToken',
        method: 'post',
        path: '/api/runs/{runId}/waits/{step}/token',
        tag: 'Waits',
        access: 'scope',
      },
      summary: 'Issue a token for whoever is to decide',
      description:
        'With it anybody may resume this wait, and do nothing else. It may be issued before the wait opens, as often as needed; whichever of them comes first counts.',
      params: z.object({ runId: schema.runId, step: schema.slug }),
      body: z.strictObject({
        expiresInSeconds: z
          .int()
          .min(1)
          .max(MAX_WAIT_TOKEN_LIFE_S)
          .optional()
          .describe('How long it is good. Default: a week longer than the wait is open.'),
      }),
      answers: {
        200: {
          description: 'The token. It is kept nowhere.',
          schema: z.object({ token: z.string(), expiresAt: z.iso.datetime() }),
        },
      },
      errors: ['SF206', 'SF209', 'SF802'],
      handle: async ({ scope, params, body: { expiresInSeconds } }) => ({
        status: 200,
        body: await runs.issueWaitToken(
          ...([scope, params.runId, params.step] as const),
          expiresInSeconds === undefined ? undefined : expiresInSeconds * 1000,
        ),
      }),
    }),
    endpoint({
      ...{ id: 'resumeWithToken', method: 'post', path: '/api/waits/resume', tag: 'Waits', access: 'public' },
      summary: 'Resume the wait that a token is for',
      description:
        'The token is the right to do so; nothing else is asked. It stands in the body, so that no log of a proxy has it. Tokens that are not genuine are slowed down, as those of the API are.',
      body: z.strictObject({
        token: z.string().min(1).max(2000),
        payload: schema.json.default(null).describe('The output of the wait.'),
      }),
      answers: {
        200: {
          description: 'What became of it.',
          schema: z.object({ runId: schema.runId, step: schema.slug, outcome: schema.resumeOutcome }),
        },
      },
      errors: ['SF203', 'SF207', 'SF208', 'SF209', 'SF906'],
      handle: async ({ body, address }) => {
        let refusal: StarflowError | undefined
        const resume = () =>
          runs.resumeWithToken(body.token, body.payload).catch((error: unknown) => {
            if (!isStarflowError(error) || error.code !== 'SF207') throw error
            refusal = error
            return undefined
          })
        return { status: 200, body: await guesses.check(body.token, address, resume, () => refusal!) }
      },
    }),
  ]
}
