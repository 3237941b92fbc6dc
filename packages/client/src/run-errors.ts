import { StarflowError } from '@starflow/errors'
import type { RunState, StepState } from './run-state.ts'

/** Why a run, or one of its steps, will not complete: it failed. */
export function failureOf(run: RunState, steps: readonly StepState[]): StarflowError {
  const failed = steps.find(({ status }) => status === 'failed')
  return new StarflowError({
    code: 'SF221',
    message: `Run ${run.runId} of flow "${run.flowSlug}" failed${failed === undefined ? '' : ` in step "${failed.stepSlug}"`}.`,
    detail: failed?.errorMessage ?? undefined,
    hint: 'retryRun goes on where it stopped; completed steps keep their outputs.',
    fields: { runId: run.runId, flowSlug: run.flowSlug, ...(failed && { stepSlug: failed.stepSlug }) },
  })
}

export function cancellationOf({ runId, flowSlug, cancelReason }: RunState): StarflowError {
  return new StarflowError({
    code: 'SF222',
    message: `Run ${runId} of flow "${flowSlug}" was cancelled.`,
    detail: cancelReason ?? undefined,
    hint: 'retryRun goes on where it stopped; completed steps keep their outputs.',
    fields: { runId, flowSlug },
  })
}

/** What is waited for cannot come any more, and nothing failed. */
export function unreachable(thing: string, wanted: string, status: string, reason: string | undefined): StarflowError {
  return new StarflowError({
    code: 'SF223',
    message: `${thing} will not be ${wanted}: it is ${status}.`,
    detail: reason,
    hint: 'Ask for its status, or wait for one that it can still come to.',
    fields: { wanted, status },
  })
}

/** `cause` is why the state could not be read, where that is the reason. */
export function timedOut(
  thing: string,
  wanted: string,
  status: string,
  timeoutMs: number,
  cause: unknown,
): StarflowError {
  return new StarflowError({
    code: 'SF224',
    message: `${thing} was not ${wanted} after ${timeoutMs} ms.`,
    detail: `It is ${status}.${cause === undefined ? '' : ` The last read failed: ${String((cause as Error).message)}`}`,
    hint: 'The run itself goes on. Wait longer, or look at its workers: npx starflow coverage',
    fields: { wanted, status, timeoutMs },
    cause,
  })
}

export function disposed(thing: string, wanted: string, status: string): StarflowError {
  return new StarflowError({
    code: 'SF225',
    message: `${thing} was not ${wanted} when it was disposed of.`,
    detail: `It is ${status}, as far as was known then.`,
    hint: 'The run itself goes on. Ask for it again with getRun.',
    fields: { wanted, status },
  })
}

export function runNotFound(runId: string): StarflowError {
  return new StarflowError({
    code: 'SF802',
    message: `Run ${runId} does not exist.`,
    detail: 'There is none of this id that the caller may see.',
    hint: 'A signed-in person sees the runs that they started; the service role sees all.',
    fields: { runId },
  })
}
