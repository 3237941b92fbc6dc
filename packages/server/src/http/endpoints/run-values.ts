import { z } from 'zod'
import type { RunDirectory } from '../../runs/run-directory.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const tag = 'Runs'
const params = z.object({ runId: schema.runId })
const stepParams = z.object({ runId: schema.runId, step: schema.slug.describe('The slug of the step.') })

/** What of a run may be large, each asked for by itself: input, outputs, and the tasks of a step. */
export function runValueEndpoints(runs: RunDirectory): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'getRunInput', method: 'get', path: '/api/runs/{runId}/input', tag, access: 'scope' },
      summary: 'Show the input of a run, however large',
      params,
      answers: { 200: { description: 'The input.', schema: z.object({ input: schema.json }) } },
      errors: ['SF802'],
      handle: async ({ scope, params: { runId } }) => {
        const { value } = await runs.readValue(scope, runId, 'input')
        return { status: 200, body: { input: value } }
      },
    }),
    endpoint({
      ...{ id: 'getRunOutput', method: 'get', path: '/api/runs/{runId}/output', tag, access: 'scope' },
      summary: 'Show the output of a run, however large',
      params,
      answers: {
        200: { description: 'The output; null while there is none.', schema: z.object({ output: schema.json }) },
      },
      errors: ['SF802'],
      handle: async ({ scope, params: { runId } }) => {
        const { value } = await runs.readValue(scope, runId, 'output')
        return { status: 200, body: { output: value } }
      },
    }),
    endpoint({
      ...{ id: 'getStepOutput', method: 'get', path: '/api/runs/{runId}/steps/{step}/output', tag, access: 'scope' },
      summary: 'Show the output of a step, or of one task of it, however large',
      params: stepParams,
      query: z.object({
        task: schema.wholeNumber.optional().describe('The index of the task; of a map, the element.'),
      }),
      answers: {
        200: { description: 'The output; null while there is none.', schema: z.object({ output: schema.json }) },
      },
      errors: ['SF107', 'SF802'],
      handle: async ({ scope, params: { runId, step }, query }) => {
        const { value } = await runs.readStepOutput(scope, runId, step, query.task)
        return { status: 200, body: { output: value } }
      },
    }),
    endpoint({
      ...{ id: 'listTasks', method: 'get', path: '/api/runs/{runId}/steps/{step}/tasks', tag, access: 'scope' },
      summary: 'List the tasks of a step with their attempts, by index',
      params: stepParams,
      query: z.object({
        after: schema.wholeNumber.optional().describe('The index of the last task of the page before.'),
        status: schema.taskStatus.optional(),
        limit: schema.limit,
      }),
      answers: {
        200: {
          description: 'A page of tasks. `next` goes into `after`; null on the last page.',
          schema: z.object({ tasks: z.array(schema.taskView), next: z.int().nullable() }),
        },
      },
      errors: ['SF107', 'SF802'],
      handle: async ({ scope, params: { runId, step }, query: { after, status, limit } }) => {
        // One more tells whether there is another page.
        const found = await runs.tasks(scope, runId, step, { after, status, limit: limit + 1 })
        const tasks = found.slice(0, limit)
        return { status: 200, body: { tasks, next: found.length > limit ? tasks.at(-1)!.task : null } }
      },
    }),
  ]
}
