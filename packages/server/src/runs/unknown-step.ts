import { StarflowError } from '@starflow/errors'

export function unknownStep(runId: string, step: string): StarflowError {
  return new StarflowError({
    code: 'SF107',
    message: `Run ${runId} has no step "${step}", or no such task of it.`,
    detail: 'The flow that the run was started with has none of this slug and index.',
    hint: `GET /api/runs/${runId} lists its steps.`,
    fields: { runId, stepSlug: step },
  })
}
